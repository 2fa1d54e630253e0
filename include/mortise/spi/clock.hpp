// Time and threads as parameters.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <cstdint>
#include <functional>

namespace mortise::inline v0 {

namespace spi {

using task = unique_function<void()>;

// The client's time: the real one reads boot_clock and runs timers on the io thread; the tests' one stands still
// until told otherwise. Library code never asks another clock and never sleeps.
class MORTISE_API clock {
public:
    using time_point = boot_clock::time_point;
    using timer_id = std::uint64_t;  // 0 is no timer

    virtual ~clock();
    virtual time_point now() const noexcept = 0;

    // Runs `what` once at or after `when`. Never from inside this call, and never with a lock of the clock's held.
    // Timers must not block.
    virtual timer_id at(time_point when, task what) = 0;

    // A timer that has run, runs right now or never was is left alone.
    virtual void cancel(timer_id) noexcept = 0;

    // Runs `when_readable` on the clock's thread each time the descriptor has something to read. It must read it.
    // After unwatch() it may run once more, but does not begin to.
    virtual void watch(int fd, std::function<void()> when_readable) = 0;
    virtual void unwatch(int fd) noexcept = 0;
};

// Where user callbacks run, one at a time and in order; never the thread that keeps time.
class MORTISE_API notifier {
public:
    virtual ~notifier();
    virtual void post(task what) = 0;
};

}  // namespace spi

}  // namespace mortise::inline v0
