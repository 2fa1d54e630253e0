// Was anybody inside together with somebody else?
#pragma once

#include <mortise/boot_clock.hpp>
#include <mortise/token.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace mortise::testing {

// Cheap enough for millions of acquisitions: two atomic operations in, one out.
//
// All of them are relaxed on purpose. A single atomic's changes have one order for everybody, so an overlap is seen
// all the same; and no ordering is lent to the lock under test, so a race detector still sees a lock that excludes but
// does not synchronise.
class overlap_checker {
public:
    // Call right after the lock was granted and right before it is given back.
    void enter(token mine) noexcept {
        if (inside_.fetch_add(1, std::memory_order_relaxed) != 0) overlaps_.fetch_add(1, std::memory_order_relaxed);
        const auto before = last_token_.exchange(mine.value(), std::memory_order_relaxed);
        if (mine.value() <= before) token_disorders_.fetch_add(1, std::memory_order_relaxed);
        entries_.fetch_add(1, std::memory_order_relaxed);
    }
    void leave() noexcept { inside_.fetch_sub(1, std::memory_order_relaxed); }

    std::uint64_t entries() const noexcept { return entries_.load(); }
    std::uint64_t overlaps() const noexcept { return overlaps_.load(); }  // entries that met somebody
    std::uint64_t token_disorders() const noexcept {
        return token_disorders_.load();
    }  // entries without a higher token

private:
    std::atomic<std::uint32_t> inside_ = 0;
    std::atomic<std::uint64_t> last_token_ = 0;
    std::atomic<std::uint64_t> entries_ = 0;
    std::atomic<std::uint64_t> overlaps_ = 0;
    std::atomic<std::uint64_t> token_disorders_ = 0;
};

// The same question asked afterwards, from when each visit began and ended. Threads share nothing while they run, so
// the check does not disturb what it checks; and every visit that met another is counted, not only the moment of entry.
class visit_history {
public:
    struct visit {
        boot_clock::time_point entered;
        boot_clock::time_point left;
        std::uint64_t token;

        friend auto operator<=>(const visit&, const visit&) = default;
    };

    // One thread's notes.
    class lane {
    public:
        void reserve(std::size_t visits) { visits_.reserve(visits); }
        void enter(token mine) { visits_.push_back({boot_clock::now(), {}, mine.value()}); }
        void leave() { visits_.back().left = boot_clock::now(); }

    private:
        friend class visit_history;
        std::vector<visit> visits_;
    };

    struct verdict {
        std::size_t visits = 0;
        std::size_t overlaps = 0;
        std::size_t token_disorders = 0;
    };

    // Good for as long as the history is.
    lane& make_lane() {
        std::scoped_lock guard{mutex_};
        return lanes_.emplace_back();
    }

    // After the threads were joined.
    verdict check() const {
        std::vector<visit> all;
        for (const lane& one : lanes_) all.insert(all.end(), one.visits_.begin(), one.visits_.end());
        return check(std::move(all));
    }

    // Ending and beginning in the same nanosecond is no overlap: the clock may be coarser than a hand-over.
    static verdict check(std::vector<visit> all) {
        std::sort(all.begin(), all.end());
        verdict found{.visits = all.size()};
        for (std::size_t i = 1; i < all.size(); ++i) {
            if (all[i].token <= all[i - 1].token) ++found.token_disorders;
        }
        boot_clock::time_point busy_until = boot_clock::time_point::min();
        for (const visit& one : all) {
            if (one.entered < busy_until) ++found.overlaps;
            busy_until = std::max(busy_until, one.left);
        }
        return found;
    }

private:
    std::mutex mutex_;
    std::deque<lane> lanes_;
};

}  // namespace mortise::testing
