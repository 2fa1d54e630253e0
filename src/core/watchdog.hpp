// Keeps leases alive: has the claims looked at when the first is due.
#pragma once

#include "core/schedule.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace mortise::inline v0::core {

// One timer for all claims of a client. Most locks are released long before they are due: the timer stays as it is then, and
// finds later claims, or none. Thread-safe; calls nobody back but on the clock's thread.
class watchdog final : public schedule, public std::enable_shared_from_this<watchdog> {
public:
    using round = std::function<spi::time_point()>;

    explicit watchdog(std::shared_ptr<spi::clock> clock) : clock_(std::move(clock)) {}

    // `look` looks at all claims that are due, and answers when the next one is that was not. To be set before anything is due.
    void call(round look) { look_ = std::move(look); }

    void look_by(spi::time_point due) override;
    void stop() noexcept;

private:
    void fire();

    std::shared_ptr<spi::clock> clock_;
    round look_;
    std::mutex mutex_;
    spi::clock::timer_id timer_ = 0;
    std::atomic<spi::time_point> armed_{spi::time_point::max()};  // written with the mutex held
    bool stopped_ = false;
};

}  // namespace mortise::inline v0::core
