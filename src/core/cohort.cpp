#include "core/cohort.hpp"

#include <algorithm>

namespace mortise::inline v0::core {

bool cohort::would_queue() const {
    return std::any_of(line.begin(), line.end(), [](const auto& call) { return !call->waiting->no_wait; });
}

boot_clock::time_point claimant::valid_until() const noexcept {
    if (is.load(std::memory_order_acquire) != phase::holding || keeper().forked()) return boot_clock::time_point::min();
    const auto until = cohort->valid_until.load(std::memory_order_acquire);
    return keeper().clock().now() < until ? until : boot_clock::time_point::min();
}

}  // namespace mortise::inline v0::core
