// The clock that leases are counted on.
#pragma once

#include <mortise/config.hpp>

#include <chrono>

namespace mortise::inline v0 {

// Time since boot, including the time the machine was suspended (CLOCK_BOOTTIME).
//
// std::chrono::steady_clock stands still while a laptop sleeps or a virtual machine is paused by its guest, so a
// lease counted on it would look alive long after the store gave the lock away. The wall clock jumps. This one does
// neither. A pause by the hypervisor that the guest cannot see is invisible to every clock; only a fencing token
// covers it.
//
// Meets the requirements of a standard Clock; time points of two machines are not comparable.
struct MORTISE_API boot_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept;
};

}  // namespace mortise::inline v0
