#include "core/watchdog.hpp"

namespace mortise::inline v0::core {

// Reads `armed_` without the mutex. What it may miss is that fire() has just disarmed; but fire() looks at every shard after
// that, under the shard's mutex. Our caller holds that of the claim it tells of: either fire() finds the claim, or the caller
// came later to the mutex and finds `armed_` as fire() left it.
void watchdog::look_by(spi::time_point due) {
    if (due >= armed_.load(std::memory_order_relaxed)) return;
    std::scoped_lock guard{mutex_};
    if (stopped_ || due >= armed_.load(std::memory_order_relaxed)) return;
    clock_->cancel(timer_);
    armed_.store(due, std::memory_order_relaxed);
    timer_ = clock_->at(due, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->fire();
    });
}

void watchdog::stop() noexcept {
    std::scoped_lock guard{mutex_};
    stopped_ = true;
    clock_->cancel(std::exchange(timer_, 0));
}

void watchdog::fire() {
    {
        std::scoped_lock guard{mutex_};
        timer_ = 0;
        armed_.store(spi::time_point::max(), std::memory_order_relaxed);
    }
    look_by(look_());
}

}  // namespace mortise::inline v0::core
