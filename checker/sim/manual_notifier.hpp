// A notifier that runs nothing until a test says so.
#pragma once

#include <mortise/spi/clock.hpp>

#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

namespace mortise::testing {

// run() may be called by one thread at a time, post() by any.
class manual_notifier final : public spi::notifier {
public:
    void post(spi::task what) override {
        std::scoped_lock guard{mutex_};
        queue_.push_back(std::move(what));
    }

    // Runs what is queued, in order, and what that posts; answers how many ran.
    std::size_t run() {
        std::size_t ran = 0;
        for (spi::task next; take(next); ++ran) {
            next();
            next = nullptr;
        }
        return ran;
    }

    // Forgets what is queued.
    void drop() {
        std::deque<spi::task> dropped;  // destroyed without the lock: it may own anything
        std::scoped_lock guard{mutex_};
        dropped.swap(queue_);
    }

    std::size_t pending() const {
        std::scoped_lock guard{mutex_};
        return queue_.size();
    }

private:
    bool take(spi::task& next) {
        std::scoped_lock guard{mutex_};
        if (queue_.empty()) return false;
        next = std::move(queue_.front());
        queue_.pop_front();
        return true;
    }

    mutable std::mutex mutex_;
    std::deque<spi::task> queue_;
};

}  // namespace mortise::testing
