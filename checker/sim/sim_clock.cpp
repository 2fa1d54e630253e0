#include "checker/sim/sim_clock.hpp"

#include <algorithm>

namespace mortise::testing {

spi::clock::time_point sim_clock::now() const noexcept {
    std::scoped_lock guard{mutex_};
    return now_;
}

spi::clock::timer_id sim_clock::at(time_point when, spi::task what) {
    std::scoped_lock guard{mutex_};
    const timer_id id = ++last_id_;
    timers_.emplace(key{when, id}, std::move(what));
    due_.emplace(id, when);
    return id;
}

void sim_clock::cancel(timer_id which) noexcept {
    spi::task dropped;  // destroyed last, after the lock is given up: it may own anything
    std::scoped_lock guard{mutex_};
    const auto found = due_.find(which);
    if (found == due_.end()) return;
    const auto timer = timers_.find(key{found->second, which});
    dropped = std::move(timer->second);
    timers_.erase(timer);
    due_.erase(found);
}

// Runs the earliest timer due by `limit`; when there is none, the clock arrives at `limit`. The two are one step, so
// a timer added by another thread meanwhile is either run or found due by the next call, never skipped over.
bool sim_clock::run_one(time_point limit) {
    spi::task what;
    {
        std::scoped_lock guard{mutex_};
        const auto first = timers_.begin();
        if (first == timers_.end() || first->first.first > limit) {
            now_ = std::max(now_, limit);
            return false;
        }
        now_ = std::max(now_, first->first.first);
        what = std::move(first->second);
        due_.erase(first->first.second);
        timers_.erase(first);
    }
    what();
    return true;
}

void sim_clock::advance_to(time_point target) {
    target = std::max(target, now());
    while (run_one(target)) {
    }
}

void sim_clock::drop() {
    std::map<key, spi::task> dropped;  // destroyed without the lock: they may own anything
    std::scoped_lock guard{mutex_};
    dropped.swap(timers_);
    due_.clear();
}

void sim_clock::advance(duration by) {
    advance_to(now() + by);
}

void sim_clock::run_due() {
    advance_to(now());
}

void sim_clock::jump(duration by) {
    std::scoped_lock guard{mutex_};
    now_ += by;
}

std::size_t sim_clock::pending() const {
    std::scoped_lock guard{mutex_};
    return timers_.size();
}

std::optional<spi::clock::time_point> sim_clock::next() const {
    std::scoped_lock guard{mutex_};
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first.first;
}

}  // namespace mortise::testing
