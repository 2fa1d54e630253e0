// Which claim has to be looked at next: to renew what is held, to ask again for what is not.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <vector>

namespace mortise::inline v0::core {

class cohort;

// A heap ordered by the next due time. Claims carry their own slot in it, so a lock that is released long before its first
// renewal leaves nothing behind. Pure; each shard of the claim table has one, guarded by the shard's mutex. A claim leaves it
// before it ends.
class look_queue {
public:
    // Or moves it to another time.
    void set(cohort& c, spi::time_point due);
    void erase(cohort& c) noexcept;

    // When the first is due; max() if there is none.
    spi::time_point next() const noexcept;

    // Takes out the first, if it is due, or if it may be looked at when another one is; nullptr: it is not.
    cohort* take_due(spi::time_point now) noexcept;
    cohort* take_joining(spi::time_point now) noexcept;

private:
    void rise(std::size_t slot) noexcept;
    void sink(std::size_t slot) noexcept;
    void put(std::size_t slot, cohort* c) noexcept;
    cohort* take(std::size_t slot) noexcept;

    std::vector<cohort*> heap_;  // slot s is heap_[s - 1]
};

}  // namespace mortise::inline v0::core
