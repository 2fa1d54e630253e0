#include "stores/host/wait_slots.hpp"

#include "stores/host/futex.hpp"

#include <chrono>
#include <climits>
#include <thread>

#include <errno.h>

namespace mortise::inline v0::stores::host {

bool sleep_on(std::atomic<std::uint32_t>& wait_slot, std::uint32_t seen) noexcept {
    const timespec at_most{1, 0};
    if (futex(wait_slot, FUTEX_WAIT, seen, &at_most) == 0 || errno == EAGAIN || errno == EINTR) return true;
    if (errno != ETIMEDOUT) std::this_thread::sleep_for(std::chrono::milliseconds{10});  // the file was truncated
    return false;
}

bool wake_sleepers(std::atomic<std::uint32_t>& wait_slot) noexcept {
    wait_slot.fetch_add(1);
    return futex(wait_slot, FUTEX_WAKE, INT_MAX, nullptr) > 0;
}

}  // namespace mortise::inline v0::stores::host
