#include "core/watchdog.hpp"

#include "core/cohort.hpp"

#include <utility>

namespace mortise::inline v0::core {

void watchdog::watch(const std::shared_ptr<cohort>& c, spi::time_point due, spi::time_point joins) {
    std::scoped_lock guard{mutex_};
    if (stopped_) return;
    const bool later = c->watch_slot != 0 && due > c->watch_due;
    c->watch_due = due;
    c->watch_joins = joins;
    if (c->watch_slot == 0) {
        heap_.push_back(c);
        c->watch_slot = static_cast<std::uint32_t>(heap_.size());
    }
    if (later) {
        sink(c->watch_slot);
    } else {
        rise(c->watch_slot);
    }
    if (due < armed_) arm();
}

void watchdog::forget(cohort& c) noexcept {
    claim dropped;  // released after the lock
    std::scoped_lock guard{mutex_};
    if (c.watch_slot != 0) dropped = take(c.watch_slot);
}

void watchdog::stop() noexcept {
    std::vector<claim> dropped;
    std::scoped_lock guard{mutex_};
    stopped_ = true;
    clock_->cancel(std::exchange(timer_, 0));
    for (const claim& e : heap_) e->watch_slot = 0;
    dropped.swap(heap_);
}

std::size_t watchdog::size() const {
    std::scoped_lock guard{mutex_};
    return heap_.size();
}

bool watchdog::sooner(const claim& a, const claim& b) noexcept {
    return a->watch_due < b->watch_due;
}

void watchdog::put(std::size_t slot, claim e) noexcept {
    e->watch_slot = static_cast<std::uint32_t>(slot);
    heap_[slot - 1] = std::move(e);
}

void watchdog::rise(std::size_t slot) noexcept {
    claim moving = std::move(heap_[slot - 1]);
    for (; slot > 1 && sooner(moving, heap_[slot / 2 - 1]); slot /= 2) put(slot, std::move(heap_[slot / 2 - 1]));
    put(slot, std::move(moving));
}

void watchdog::sink(std::size_t slot) noexcept {
    claim moving = std::move(heap_[slot - 1]);
    while (2 * slot <= heap_.size()) {
        std::size_t child = 2 * slot;
        if (child < heap_.size() && sooner(heap_[child], heap_[child - 1])) ++child;
        if (!sooner(heap_[child - 1], moving)) break;
        put(slot, std::move(heap_[child - 1]));
        slot = child;
    }
    put(slot, std::move(moving));
}

auto watchdog::take(std::size_t slot) noexcept -> claim {
    claim taken = std::move(heap_[slot - 1]);
    claim last = std::move(heap_.back());
    heap_.pop_back();
    taken->watch_slot = 0;
    if (slot <= heap_.size()) {
        put(slot, std::move(last));
        rise(slot);
        sink(slot);
    }
    return taken;
}

void watchdog::arm() {
    clock_->cancel(timer_);
    armed_ = heap_.front()->watch_due;
    timer_ = clock_->at(armed_, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->fire();
    });
}

void watchdog::fire() {
    std::vector<claim> due;
    {
        std::scoped_lock guard{mutex_};
        timer_ = 0;
        armed_ = spi::time_point::max();
        const spi::time_point now = clock_->now();
        while (!heap_.empty() && heap_.front()->watch_due <= now) due.push_back(take(1));
        while (!due.empty() && !heap_.empty() && heap_.front()->watch_joins <= now) due.push_back(take(1));
    }
    if (!due.empty()) look_(std::move(due));
    std::scoped_lock guard{mutex_};
    if (!stopped_ && !heap_.empty() && heap_.front()->watch_due < armed_) arm();
}

}  // namespace mortise::inline v0::core
