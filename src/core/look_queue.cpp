#include "core/look_queue.hpp"

#include "core/cohort.hpp"

namespace mortise::inline v0::core {

void look_queue::set(cohort& c, spi::time_point due) {
    const bool later = c.look_slot != 0 && due > c.look_due;
    c.look_due = due;
    if (c.look_slot == 0) {
        heap_.push_back(&c);
        c.look_slot = static_cast<std::uint32_t>(heap_.size());
    }
    if (later) {
        sink(c.look_slot);
    } else {
        rise(c.look_slot);
    }
}

void look_queue::erase(cohort& c) noexcept {
    if (c.look_slot != 0) take(c.look_slot);
}

spi::time_point look_queue::next() const noexcept {
    return heap_.empty() ? spi::time_point::max() : heap_.front()->look_due;
}

cohort* look_queue::take_due(spi::time_point now) noexcept {
    return !heap_.empty() && heap_.front()->look_due <= now ? take(1) : nullptr;
}

cohort* look_queue::take_joining(spi::time_point now) noexcept {
    if (heap_.empty()) return nullptr;
    const cohort& first = *heap_.front();
    const bool held = first.is == cohort::state::held;
    return (held ? first.lease.may_join() : first.look_due) <= now ? take(1) : nullptr;
}

void look_queue::put(std::size_t slot, cohort* c) noexcept {
    c->look_slot = static_cast<std::uint32_t>(slot);
    heap_[slot - 1] = c;
}

void look_queue::rise(std::size_t slot) noexcept {
    cohort* const moving = heap_[slot - 1];
    for (; slot > 1 && moving->look_due < heap_[slot / 2 - 1]->look_due; slot /= 2) put(slot, heap_[slot / 2 - 1]);
    put(slot, moving);
}

void look_queue::sink(std::size_t slot) noexcept {
    cohort* const moving = heap_[slot - 1];
    while (2 * slot <= heap_.size()) {
        std::size_t child = 2 * slot;
        if (child < heap_.size() && heap_[child]->look_due < heap_[child - 1]->look_due) ++child;
        if (heap_[child - 1]->look_due >= moving->look_due) break;
        put(slot, heap_[child - 1]);
        slot = child;
    }
    put(slot, moving);
}

cohort* look_queue::take(std::size_t slot) noexcept {
    cohort* const taken = heap_[slot - 1];
    cohort* const last = heap_.back();
    heap_.pop_back();
    taken->look_slot = 0;
    if (slot <= heap_.size()) {
        put(slot, last);
        rise(slot);
        sink(last->look_slot);
    }
    return taken;
}

}  // namespace mortise::inline v0::core
