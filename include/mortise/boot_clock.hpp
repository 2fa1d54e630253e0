// The clock that measures leases.
#pragma once

#include <mortise/config.hpp>

#include <chrono>

namespace mortise::inline v0 {

// Time since boot, including the time the machine was suspended (CLOCK_BOOTTIME).
//
// std::chrono::steady_clock stops while a machine is suspended, so a lease measured with it would seem valid long after
// the store granted the lock to somebody else. The wall clock can be set. This clock does neither. No clock of a
// virtual machine sees a pause by the hypervisor; only a fencing token protects against it.
//
// Meets the standard Clock requirements. Time points of different machines are not comparable.
struct MORTISE_API boot_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept;
};

}  // namespace mortise::inline v0
