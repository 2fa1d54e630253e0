// A store without fencing tokens.
#pragma once

#include "support/modest_store.hpp"

#include <mortise/spi/store_wrapper.hpp>

#include <memory>
#include <utility>

namespace mortise::testing {

// Takes the counter out of whatever shows one.
class tokenless_store final : public spi::store_wrapper {
public:
    using store_wrapper::store_wrapper;

    void claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) override {
        store_wrapper::claim(asked, [done = std::move(done)](spi::claim_answer answer) mutable {
            answer.grant.counter = 0;
            if (answer.standing.holder) answer.standing.holder->token = {};
            done(std::move(answer));
        });
    }
    void list(spi::reply<spi::listing> done) override {
        store_wrapper::list([done = std::move(done)](spi::listing all) mutable {
            for (auto& one : all.holds) one.holder.token = {};
            done(std::move(all));
        });
    }
    void granted(std::string_view name, const claim_id& id, const spi::grant& given) override {
        spi::grant without = given;
        without.counter = 0;
        store_wrapper::granted(name, id, without);
    }
};

inline spi::store_factory tokenless(spi::store_factory inner) {
    return modest([inner = std::move(inner)](
                      const spi::context& outer) { return std::make_unique<tokenless_store>(outer, inner); },
                  [](mortise::promises& p) { p.tokens = p.raises_tokens = false; });
}

}  // namespace mortise::testing
