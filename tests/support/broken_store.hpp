// A store with its exclusion removed: the specimen that a checker of exclusion must convict.
#pragma once

#include <mortise/spi/store_wrapper.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::testing {

// Grants every claim at once with a fresh counter, renews everything, takes everything back; the inner store is never
// asked. All instances share the counter, so that only the overlap gives it away, not its tokens.
class broken_store final : public spi::store_wrapper {
public:
    using store_wrapper::store_wrapper;

    void claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) override {
        spi::claim_answer yes{.is = spi::claim_answer::verdict::granted};
        yes.grant = {.counter = ++last_counter, .lease = asked.lease, .counted_from = clock().now()};
        done(std::move(yes));
    }
    void renew(std::span<const spi::renewal> asked, spi::reply<std::vector<spi::renewal_answer>> done) override {
        done(std::vector(asked.size(), spi::renewal_answer::renewed));
    }
    void release(std::string_view, const claim_id&, spi::reply<spi::release_answer> done) override {
        done(spi::release_answer::released);
    }

private:
    inline static std::atomic<std::uint64_t> last_counter = 0;
};

inline spi::store_factory broken(spi::store_factory inner) {
    return
        [inner = std::move(inner)](const spi::context& outer) { return std::make_unique<broken_store>(outer, inner); };
}

}  // namespace mortise::testing
