// Tasks by the time when they are due. Pure; its owner guards it.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mortise::inline v0::core {

// Most timers are cancelled soon, and never looked at. So cancelling takes only the task away; its place in the order stays until it
// comes up, or until most places are such.
class timers {
public:
    using time_point = spi::clock::time_point;
    using timer_id = spi::clock::timer_id;

    timer_id add(time_point when, spi::task what);  // never 0
    // The task, for the caller to destroy: empty if it has run, or was cancelled.
    spi::task cancel(timer_id id) noexcept;

    // The task that is due first, in the order in which they were added if several are; empty if none is.
    spi::task take_due(time_point now) noexcept;
    // When the next is due, time_point::max() if there is none.
    time_point next() noexcept;

private:
    // An id is the number of the timer, above the place of its task.
    static constexpr unsigned place_bits = 24;
    struct kept_task {
        timer_id id = 0;  // 0: free
        spi::task what;
    };
    struct entry {
        time_point when;
        timer_id id;
    };
    static bool later(const entry& a, const entry& b) noexcept {
        return a.when != b.when ? a.when > b.when : a.id > b.id;
    }
    kept_task* find(timer_id id) noexcept;
    spi::task take(kept_task& from) noexcept;
    void drop_cancelled() noexcept;  // at the front
    void pop() noexcept;

    std::vector<kept_task> tasks_;
    std::vector<std::uint32_t> free_;  // places in it
    std::vector<entry> order_;         // a heap, the first in front
    std::uint64_t last_ = 0;
};

}  // namespace mortise::inline v0::core
