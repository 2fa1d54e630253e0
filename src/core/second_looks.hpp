// A call that does not wait finds a lock in use which its holder may only keep while it is idle, and gives up just now: it looks
// again, a few times, before it believes that.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

namespace mortise::inline v0::core {

// Pure.
class second_looks {
public:
    bool begun() const noexcept { return taken_ > 0; }

    // How long before the next one; none: it has looked often enough.
    std::optional<spi::duration> next(spi::time_point now) noexcept {
        if (!begun()) until_ = now + keepers_time;
        if (taken_ == std::size(pauses) || now >= until_) return std::nullopt;
        return std::min(pauses[taken_++], until_ - now);
    }

private:
    static constexpr spi::duration pauses[]{std::chrono::milliseconds{0}, std::chrono::milliseconds{1},
                                            std::chrono::milliseconds{4}, std::chrono::milliseconds{15}};
    static constexpr spi::duration keepers_time = std::chrono::milliseconds{20};

    unsigned taken_ = 0;
    spi::time_point until_{};
};

}  // namespace mortise::inline v0::core
