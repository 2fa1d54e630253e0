// Any standard duration or deadline, as nanoseconds.
#pragma once

#include <mortise/config.hpp>

#include <chrono>

namespace mortise::inline v0 {

namespace detail {

// Longer waits are unlimited.
inline constexpr std::chrono::nanoseconds for_ever = std::chrono::hours{24 * 365 * 100};

// Converts without overflow, whatever the unit: negative values and NaN become zero, a century and more becomes
// for_ever, and fractions of a nanosecond are rounded up, so that a positive wait stays positive.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds bounded(const std::chrono::duration<Rep, Period>& wait) {
    using seconds = std::chrono::duration<double>;
    if (!(wait > wait.zero())) return std::chrono::nanoseconds::zero();
    if (seconds(wait) >= seconds(for_ever)) return for_ever;
    // In floating point, because odd units overflow integers; exact to the nanosecond for 500 years.
    using fine = std::chrono::duration<long double, std::nano>;
    const long double exact = fine(wait).count();
    const auto whole = static_cast<std::chrono::nanoseconds::rep>(exact);
    return std::chrono::nanoseconds{static_cast<long double>(whole) < exact ? whole + 1 : whole};
}

// The time left until a deadline of any clock, including time_point::max() and min().
template <class Clock, class Duration>
std::chrono::nanoseconds until(const std::chrono::time_point<Clock, Duration>& deadline) {
    using fine = std::chrono::duration<long double, std::nano>;
    return bounded(fine(deadline.time_since_epoch()) - fine(Clock::now().time_since_epoch()));
}

// The parameter of functions that end in _for: any std::chrono::duration.
struct any_duration {
    std::chrono::nanoseconds left;

    template <class Rep, class Period>
    constexpr any_duration(const std::chrono::duration<Rep, Period>& wait)  // NOLINT(google-explicit-constructor)
        : left(bounded(wait)) {}
};

// The parameter of functions that end in _until: any std::chrono::time_point, of any clock.
struct any_time_point {
    std::chrono::nanoseconds left;  // at the time of the call

    template <class Clock, class Duration>
    any_time_point(const std::chrono::time_point<Clock, Duration>& at)  // NOLINT(google-explicit-constructor)
        : left(until(at)) {}
};

}  // namespace detail

}  // namespace mortise::inline v0
