// Simulated time and callbacks together: a client in it has no threads and never sleeps.
#pragma once

#include "checker/sim/manual_notifier.hpp"
#include "checker/sim/sim_clock.hpp"

#include <mortise/spi/client.hpp>

#include <memory>

namespace mortise::testing {

//     sim_world sim;
//     client locks = spi::make_client(spi::factory_of("memory:"), sim.world());
//     ...
//     sim.advance(10s);
class sim_world {
public:
    sim_world() = default;
    sim_world(const sim_world&) = delete;
    sim_world& operator=(const sim_world&) = delete;
    // What never came to run may own a client that owns this clock and notifier.
    ~sim_world() {
        notifier_->drop();
        clock_->drop();
    }

    sim_clock& clock() noexcept { return *clock_; }
    manual_notifier& notifier() noexcept { return *notifier_; }
    spi::world world() const { return {.clock = clock_, .notifier = notifier_}; }

    // Runs callbacks and due timers until there are none, without moving time.
    void settle() {
        do {
            clock_->run_due();
        } while (notifier_->run() > 0);
    }

    // Callbacks run at the time of the timer that caused them, as if the notifier kept up. For a notifier that is
    // stuck, move clock() alone.
    void advance(boot_clock::duration by) {
        const auto target = clock_->now() + by;
        settle();
        for (auto next = clock_->next(); next && *next <= target; next = clock_->next()) {
            clock_->advance_to(*next);
            settle();
        }
        clock_->advance_to(target);
        settle();
    }

    // A pause of the whole process, and its first moments after.
    void pause(boot_clock::duration by) {
        clock_->jump(by);
        settle();
    }

private:
    std::shared_ptr<sim_clock> clock_ = std::make_shared<sim_clock>();
    std::shared_ptr<manual_notifier> notifier_ = std::make_shared<manual_notifier>();
};

}  // namespace mortise::testing
