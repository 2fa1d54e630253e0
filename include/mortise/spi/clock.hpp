// Time and callback threads as interfaces.
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <cstdint>
#include <functional>

namespace mortise::inline v0 {

namespace spi {

using task = unique_function<void()>;

// The clock and timers of a client. The real one reads boot_clock and runs timers on the io thread; the simulated one
// in tests advances only when told to. Library code uses no other clock and never sleeps.
class MORTISE_API clock {
public:
    using time_point = boot_clock::time_point;
    using timer_id = std::uint64_t;  // 0 is no timer

    virtual ~clock();
    virtual time_point now() const noexcept = 0;

    // Runs `what` once, at or after `when`; never inside this call, and never while the clock holds a mutex. Timers
    // must not block.
    virtual timer_id at(time_point when, task what) = 0;

    // Cancels a timer. Does nothing if it has run, is running or does not exist.
    virtual void cancel(timer_id) noexcept = 0;

    // Runs `when_readable` on the clock's thread each time the descriptor becomes readable; it must read it. A call
    // that has started may still be running after unwatch(); none starts later.
    virtual void watch(int fd, std::function<void()> when_readable) = 0;
    virtual void unwatch(int fd) noexcept = 0;
};

// Runs user callbacks, one at a time and in order; never on the clock's thread.
class MORTISE_API notifier {
public:
    virtual ~notifier();
    virtual void post(task what) = 0;
};

}  // namespace spi

}  // namespace mortise::inline v0
