// Paces the lookups of a router: which node keeps a slot, which server is the master.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <atomic>
#include <chrono>
#include <memory>

namespace mortise::inline v0::stores::redis {

// However often a lookup is asked for, it is made once, `period` later. Part of its owner, which is kept alive meanwhile.
class lookup_pacer {
public:
    lookup_pacer(spi::clock& clock, std::chrono::milliseconds period) : clock_(clock), period_(period) {}

    // Calls `look` of the owner, and again while it returns true. Not after stop(), nor once the owner is gone.
    template <class Owner>
    void look_soon(const std::weak_ptr<Owner>& owner, bool (Owner::*look)()) {
        if (stopped_ || due_.exchange(true)) return;
        clock_.at(clock_.now() + period_, [this, owner, look] {
            const auto alive = owner.lock();
            if (!alive || stopped_) return;
            due_ = false;
            if ((alive.get()->*look)()) look_soon(owner, look);
        });
    }

    void stop() noexcept { stopped_ = true; }

private:
    spi::clock& clock_;
    const std::chrono::milliseconds period_;
    std::atomic<bool> due_{false};
    std::atomic<bool> stopped_{false};
};

}  // namespace mortise::inline v0::stores::redis
