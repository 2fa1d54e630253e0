// A small fleet on simulated time: clients of one table, each behind a bad network of its own.
#pragma once

#include "checker/faults/faulty_store.hpp"
#include "checker/sim/sim_world.hpp"
#include "stores/memory/memory_store.hpp"
#include "stores/memory/memory_table.hpp"
#include "support/recording_observer.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::testing {

// One process of the fleet, as far as the store can tell.
struct member {
    std::shared_ptr<fault_plan> net;
    std::shared_ptr<recording_observer> seen;
    client locks;
};

// A waiting call without a thread: made by start(), answered when the fleet's callbacks run.
class call {
public:
    call(client& by, claim wanted) {
        by.start(std::move(wanted), [mine = mine_](attempt got) {
            ++mine->answers;
            mine->got.emplace(std::move(got));
        });
    }
    call(client& by, const std::string& name, claim_options options = {})
        : call(by, claim{.name = name, .options = std::move(options)}) {}

    int answers() const { return mine_->answers; }
    bool answered() const { return mine_->got.has_value(); }
    bool granted() const { return answered() && static_cast<bool>(*mine_->got); }
    std::error_code reason() const { return answered() ? mine_->got->reason() : std::error_code{}; }
    const mortise::refusal& refusal() const { return mine_->got->refusal(); }
    mortise::hold& hold() { return **mine_->got; }
    void forget() { mine_->got.reset(); }  // drops the hold with the answer

private:
    struct state {
        int answers = 0;
        std::optional<attempt> got;
    };
    std::shared_ptr<state> mine_ = std::make_shared<state>();
};

class fleet {
public:
    fleet() : table_(stores::memory::make_table(sim_.world().clock)) {}
    fleet(const fleet&) = delete;
    fleet& operator=(const fleet&) = delete;
    // Timers of clients that are gone run out here: the clock must not keep what keeps the clock.
    ~fleet() { sim_.advance(std::chrono::hours{48}); }

    // Nobody waits in real time for a store that does not answer, unless the options say so.
    static client_options quick() { return {.release_wait = {}, .close_wait = {}}; }

    member join(client_options options = quick()) {
        auto net = std::make_shared<fault_plan>();
        auto seen = std::make_shared<recording_observer>();
        if (!options.observer) options.observer = seen;
        auto store = faulty(stores::memory::open(table_), net);
        return {net, seen, spi::make_client(store, sim_.world(), std::move(options))};
    }

    sim_world& sim() { return sim_; }
    sim_clock& clock() { return sim_.clock(); }
    stores::memory::memory_table& table() { return *table_; }
    const std::shared_ptr<stores::memory::memory_table>& shared_table() { return table_; }
    void settle() { sim_.settle(); }
    void advance(std::chrono::nanoseconds by) { sim_.advance(by); }

    bool empty() { return table_->list().empty(); }
    std::size_t waiting(const std::string& name) {
        for (const spi::listed& one : table_->list())
            if (one.name == name) return one.waiting;
        return 0;
    }
    // Whether somebody new can have it at once, and leaves it as it was.
    bool free(const std::string& name) {
        member stranger = join();
        return static_cast<bool>(stranger.locks.try_acquire(name));
    }

private:
    sim_world sim_;
    std::shared_ptr<stores::memory::memory_table> table_;
};

}  // namespace mortise::testing
