// When a claim has to be looked at again.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>

namespace mortise::inline v0::core {

class cohort;

// Called with a shard's mutex held; must not call back.
class schedule {
public:
    virtual ~schedule() = default;
    // Or moves it to another time. `joins`: from then on it is looked at when another one is due.
    virtual void watch(const std::shared_ptr<cohort>& c, spi::time_point due, spi::time_point joins) = 0;
    virtual void forget(cohort& c) noexcept = 0;
};

}  // namespace mortise::inline v0::core
