// A store without a queue: waiters have to ask again.
#pragma once

#include "support/modest_store.hpp"

#include <mortise/spi/store_wrapper.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace mortise::testing {

// What the test sees of it, and may tell it.
struct polling_log {
    std::atomic<unsigned> claims{0};
    std::atomic<unsigned> inside{0};   // claims that have not returned
    std::atomic<unsigned> deepest{0};  // of those at once on one thread: more than one is recursion
    std::function<std::optional<spi::duration>()> free_in{};  // unset: as the inner store has it
    std::atomic<unsigned> strict_claims{0};                   // that demanded order::fifo
    std::atomic<unsigned> polite_claims{0};                   // that give way to others
};

// Answers `busy` to every claim that it cannot grant, before its verb returns, and pushes nothing.
class polling_store final : public spi::store_wrapper {
public:
    polling_store(const spi::context& outer, const spi::store_factory& inner, std::shared_ptr<polling_log> log)
        : store_wrapper(outer, inner), log_(std::move(log)) {}

    void claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) override {
        ++log_->claims;
        log_->deepest = std::max(log_->deepest.load(), ++log_->inside);
        if (asked.order == order::fifo) ++log_->strict_claims;
        if (asked.gives_way) ++log_->polite_claims;
        spi::claim_request once = asked;
        once.queue = false;
        store_wrapper::claim(once, [this, done = std::move(done)](spi::claim_answer answer) mutable {
            if (log_->free_in) answer.standing.free_in = log_->free_in();
            done(std::move(answer));
        });
        --log_->inside;
    }

private:
    std::shared_ptr<polling_log> log_;
};

inline spi::store_factory polling(const spi::store_factory& inner, std::shared_ptr<polling_log> log) {
    const auto make = [inner, log = std::move(log)](const spi::context& outer) {
        return std::make_unique<polling_store>(outer, inner, log);
    };
    return modest(make, [](mortise::promises& p) { p.pushes = p.fifo = p.upgrades = false; });
}

}  // namespace mortise::testing
