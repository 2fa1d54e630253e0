// A store like those across a network: it has no word that others could swap, and tells who keeps a lock when somebody asks.
#pragma once

#include <mortise/spi/store_wrapper.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::testing {

class announcing_store;

// Who keeps what, for all clients of a test. One thread.
struct kept_names {
    std::multimap<std::string, std::pair<announcing_store*, claim_id>, std::less<>> by_name;
    bool silent = false;    // nobody is told
    bool says_kept = true;  // to those who are refused
    unsigned told = 0;
    std::function<void()> before_an_answer{};  // of the next grant that may be kept
    announcing_store* latest = nullptr;        // that was made
};

class announcing_store final : public spi::store_wrapper {
public:
    announcing_store(const spi::context& outer, const spi::store_factory& inner, std::shared_ptr<kept_names> all)
        : store_wrapper(outer, inner), all_(std::move(all)) {
        all_->latest = this;
    }
    ~announcing_store() override {
        std::erase_if(all_->by_name, [this](const auto& one) { return one.second.first == this; });
    }

    void claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) override {
        using enum spi::claim_answer::verdict;
        spi::claim_request without = asked;
        without.keeps = false;
        store_wrapper::claim(without, [this, name = std::string(asked.name), id = asked.id, keeps = asked.keeps_idle,
                                       alone = asked.weight == asked.capacity,
                                       done = std::move(done)](spi::claim_answer answer) mutable {
            if (answer.is == granted) {
                answer.grant.told = keeps;
                if (alone) all_->by_name.erase(name);
                if (keeps) {
                    all_->by_name.emplace(name, std::pair{this, id});
                    if (const auto first = std::exchange(all_->before_an_answer, nullptr)) first();
                }
            } else if (answer.is == queued || answer.is == busy) {
                answer.kept = announce(name) && answer.is == busy && all_->says_kept;
            }
            done(std::move(answer));
        });
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        std::erase_if(all_->by_name, [&](const auto& one) { return one.second.second == id; });
        store_wrapper::release(name, id, std::move(done));
    }

private:
    // Whether somebody may keep it.
    bool announce(const std::string& name) {
        const auto [first, last] = all_->by_name.equal_range(name);
        const std::multimap keepers(first, last);  // who is told may let go at once
        if (all_->silent) return !keepers.empty();
        for (const auto& [_, one] : keepers) {
            ++all_->told;
            one.first->wanted(name, one.second);
        }
        return !keepers.empty();
    }

    const std::shared_ptr<kept_names> all_;
};

inline spi::store_factory announcing(spi::store_factory inner, std::shared_ptr<kept_names> all) {
    return [inner = std::move(inner), all = std::move(all)](const spi::context& outer) {
        return std::make_unique<announcing_store>(outer, inner, all);
    };
}

}  // namespace mortise::testing
