// Any standard duration as one the library can count with.
#pragma once

#include <mortise/config.hpp>

#include <chrono>

namespace mortise::inline v0 {

namespace detail {

// Longer waits are waits for ever.
inline constexpr std::chrono::nanoseconds for_ever = std::chrono::hours{24 * 365 * 100};

// No duration overflows, whatever its unit: negative (and not-a-number) is zero, a century is for ever, and a
// fraction of a nanosecond is rounded up so that a positive wait stays one.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds bounded(const std::chrono::duration<Rep, Period>& wait) {
    using seconds = std::chrono::duration<double>;
    if (!(wait > wait.zero())) return std::chrono::nanoseconds::zero();
    if (seconds(wait) >= seconds(for_ever)) return for_ever;
    return std::chrono::ceil<std::chrono::nanoseconds>(wait);
}

// What is left until a deadline on any clock; absurd deadlines (time_point::max() or min()) included.
template <class Clock, class Duration>
std::chrono::nanoseconds until(const std::chrono::time_point<Clock, Duration>& deadline) {
    using seconds = std::chrono::duration<double>;
    const auto now = Clock::now();
    const seconds left = seconds(deadline.time_since_epoch()) - seconds(now.time_since_epoch());
    if (!(left > left.zero())) return std::chrono::nanoseconds::zero();
    if (left >= seconds(for_ever)) return for_ever;
    return bounded(deadline - now);
}

}  // namespace detail

}  // namespace mortise::inline v0
