// A store that must be convicted of orphans.
#pragma once

#include <mortise/spi/store_wrapper.hpp>

#include <string_view>

namespace mortise::testing {

// Says that a claim is released, and keeps it.
class miserly_store final : public spi::store_wrapper {
public:
    using store_wrapper::store_wrapper;
    void release(std::string_view, const claim_id&, spi::reply<spi::release_answer> done) override {
        done(spi::release_answer::released);
    }
};

}  // namespace mortise::testing
