// Were waiters served in the order in which they came?
#pragma once

#include <atomic>
#include <cstdint>

namespace mortise::testing {

// Each waiter draws a ticket when it is known to stand in the queue and shows it when served, while it holds the lock.
// A ticket drawn before waiting began proves nothing: the thread may be overtaken on its way. So draw it where the
// order is certain: start claims one after the other, or wait for each one's `waited` event before the next.
class fifo_checker {
public:
    std::uint64_t draw() noexcept { return ++drawn_; }

    void served(std::uint64_t ticket) noexcept {
        ++served_;
        std::uint64_t highest = highest_.load();
        if (ticket < highest) ++inversions_;
        while (ticket > highest && !highest_.compare_exchange_weak(highest, ticket)) {
        }
    }

    std::uint64_t drawn() const noexcept { return drawn_; }
    std::uint64_t served() const noexcept { return served_; }
    std::uint64_t inversions() const noexcept { return inversions_; }  // served after somebody who came later

private:
    std::atomic<std::uint64_t> drawn_ = 0;
    std::atomic<std::uint64_t> served_ = 0;
    std::atomic<std::uint64_t> highest_ = 0;
    std::atomic<std::uint64_t> inversions_ = 0;
};

}  // namespace mortise::testing
