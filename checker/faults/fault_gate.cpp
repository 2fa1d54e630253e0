#include "checker/faults/fault_gate.hpp"

#include <algorithm>

namespace mortise::testing {

void fault_gate::pass(spi::task what) {
    {
        std::scoped_lock guard{mutex_};
        if (state_ == state::shut) return;
        if (state_ != state::open) {  // also while thawing: nobody overtakes what waited
            frozen_.push_back(std::move(what));
            return;
        }
        inside_.push_back(std::this_thread::get_id());
    }
    run(std::move(what));
}

void fault_gate::pass_after(spi::clock& clock, std::chrono::nanoseconds delay, spi::task what) {
    if (delay <= delay.zero()) return pass(std::move(what));
    std::uint64_t key = 0;
    {
        std::scoped_lock guard{mutex_};
        if (state_ == state::shut) return;
        key = ++last_delayed_;
        delayed_.emplace(key, std::move(what));
    }
    clock.at(clock.now() + delay, [weak = weak_from_this(), key] {
        const auto self = weak.lock();
        if (!self) return;
        spi::task due;
        {
            std::scoped_lock guard{self->mutex_};
            const auto found = self->delayed_.find(key);
            if (found == self->delayed_.end()) return;
            due = std::move(found->second);
            self->delayed_.erase(found);
        }
        self->pass(std::move(due));
    });
}

void fault_gate::freeze() {
    std::scoped_lock guard{mutex_};
    if (state_ != state::shut) state_ = state::frozen;
}

void fault_gate::thaw() {
    {
        std::scoped_lock guard{mutex_};
        if (state_ != state::frozen) return;
        state_ = state::thawing;
    }
    for (;;) {
        spi::task next;
        {
            std::scoped_lock guard{mutex_};
            if (state_ != state::thawing) return;  // frozen again, or shut, by what was let through
            if (frozen_.empty()) {
                state_ = state::open;
                return;
            }
            next = std::move(frozen_.front());
            frozen_.pop_front();
            inside_.push_back(std::this_thread::get_id());
        }
        run(std::move(next));
    }
}

void fault_gate::shut() {
    std::deque<spi::task> frozen;  // dropped after the lock is given up
    std::unordered_map<std::uint64_t, spi::task> delayed;
    std::unique_lock guard{mutex_};
    state_ = state::shut;
    frozen.swap(frozen_);
    delayed.swap(delayed_);
    // A reply may close its own store; waiting for oneself would be for ever.
    left_.wait(guard, [this] {
        return std::ranges::all_of(inside_, [](auto who) { return who == std::this_thread::get_id(); });
    });
}

// The caller has noted this thread in inside_, under the same lock under which it decided to pass.
void fault_gate::run(spi::task what) {
    what();
    what = nullptr;  // what it owned is gone before shut() may return
    std::scoped_lock guard{mutex_};
    inside_.erase(std::ranges::find(inside_, std::this_thread::get_id()));
    left_.notify_all();
}

}  // namespace mortise::testing
