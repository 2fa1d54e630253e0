// Keeps leases alive: knows which cohort has to be looked at next.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace mortise::inline v0::core {

class cohort;

// A heap ordered by the next due time, one timer for all. Entries carry their own slot, so a lock that is released long
// before its first renewal leaves nothing behind. Thread-safe; called with a shard's mutex held, and calls nobody back
// but on the clock's thread.
class watchdog : public std::enable_shared_from_this<watchdog> {
public:
    using round = std::function<void(std::vector<std::shared_ptr<cohort>>)>;

    // `look` gets all cohorts that are due, in one call, and those that may join them.
    watchdog(std::shared_ptr<spi::clock> clock, round look);

    // Or moves it to another time. `joins`: from then on it is looked at when another one is due.
    void watch(const std::shared_ptr<cohort>& who, spi::clock::time_point due, spi::clock::time_point joins);
    void forget(cohort& who) noexcept;
    void stop() noexcept;

    std::size_t size() const;

private:
    using entry = std::shared_ptr<cohort>;
    static bool sooner(const entry& a, const entry& b) noexcept;
    void rise(std::size_t slot) noexcept;
    void sink(std::size_t slot) noexcept;
    void put(std::size_t slot, entry e) noexcept;
    entry take(std::size_t slot) noexcept;
    void arm();
    void fire();

    std::shared_ptr<spi::clock> clock_;
    round look_;
    mutable std::mutex mutex_;
    std::vector<entry> heap_;  // slot s is heap_[s - 1]
    spi::clock::timer_id timer_ = 0;
    spi::clock::time_point armed_ = spi::clock::time_point::max();
    bool stopped_ = false;
};

}  // namespace mortise::inline v0::core
