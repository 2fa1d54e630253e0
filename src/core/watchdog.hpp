// Keeps leases alive: knows which cohort has to be looked at next.
#pragma once

#include "core/schedule.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::inline v0::core {

// A heap ordered by the next due time, one timer for all. Claims carry their own slot, so a lock that is released long
// before its first renewal leaves nothing behind. Thread-safe; called with a shard's mutex held, and calls nobody back
// but on the clock's thread.
class watchdog final : public schedule, public std::enable_shared_from_this<watchdog> {
public:
    using round = std::function<void(std::vector<std::shared_ptr<cohort>>)>;

    explicit watchdog(std::shared_ptr<spi::clock> clock) : clock_(std::move(clock)) {}

    // `look` gets all cohorts that are due, in one call, and those that may join them. To be set before anything is watched.
    void call(round look) { look_ = std::move(look); }

    void watch(const std::shared_ptr<cohort>& c, spi::time_point due, spi::time_point joins) override;
    void forget(cohort& c) noexcept override;
    void stop() noexcept;

    std::size_t size() const;

private:
    using claim = std::shared_ptr<cohort>;
    static bool sooner(const claim& a, const claim& b) noexcept;
    void rise(std::size_t slot) noexcept;
    void sink(std::size_t slot) noexcept;
    void put(std::size_t slot, claim e) noexcept;
    claim take(std::size_t slot) noexcept;
    void arm();
    void fire();

    std::shared_ptr<spi::clock> clock_;
    round look_;
    mutable std::mutex mutex_;
    std::vector<claim> heap_;  // slot s is heap_[s - 1]
    spi::clock::timer_id timer_ = 0;
    spi::time_point armed_ = spi::time_point::max();
    bool stopped_ = false;
};

}  // namespace mortise::inline v0::core
