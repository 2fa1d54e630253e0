// Which scripts the server at the other end of a connection knows, so that their digest will do.
//
// If a digest turns out to be unknown, the source follows, and whatever was sent in between has overtaken it. That must not happen to
// a release: the next claim of its name would meet the lock that it gives back. So a server that did not know one script is
// sent the source of each other with its first use, and a brief script, which may be the first of all, always is.
#pragma once

#include "stores/redis/scripts.hpp"

#include <mortise/config.hpp>

#include <atomic>
#include <cstdint>

namespace mortise::inline v0::stores::redis {

// For any thread. At worst a source is sent once more, or a digest that is unknown.
class known_scripts {
public:
    // False: send its source. From then on it is known.
    bool knows(const script& which) noexcept {
        if (!which.brief() && !forgot_.load(std::memory_order_relaxed)) return true;
        const std::uint32_t bit = bit_of(which);
        return (sent_.load(std::memory_order_relaxed) & bit) != 0 || (sent_.fetch_or(bit) & bit) != 0;
    }
    // The server did not. The source follows now.
    void missed(const script& which) noexcept {
        sent_ = bit_of(which);
        forgot_ = true;
    }
    // Another connection.
    void begin_anew() noexcept {
        forgot_ = false;
        sent_ = 0;
    }

private:
    static std::uint32_t bit_of(const script& which) noexcept { return std::uint32_t{1} << which.number; }

    std::atomic<bool> forgot_{false};
    std::atomic<std::uint32_t> sent_{0};  // in full
};

}  // namespace mortise::inline v0::stores::redis
