#include "stores/redlock/fixture.hpp"

#include "stores/redlock/servers/nodes.hpp"
#include "support/waiting.hpp"

#include <mortise/claim_id.hpp>

#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redlock {
namespace {

class redlock_fixture final : public spi::fixture {
public:
    std::string_view store() const noexcept override { return "redlock"; }
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::milliseconds{100}; }

    // A busy machine must not be taken for dead nodes.
    std::string fresh_url() override {
        if (!nodes_) nodes_ = std::make_unique<servers::nodes>(5);
        return "redlock://" + nodes_->hosts() + "?node_timeout=5s&key_prefix=t" + std::to_string(++made_) + ":";
    }

    std::string reason_against(std::string_view what) const override {
        if (what == "shared_mutex" || what == "semaphore") return "a key of SET NX is one holder's, whole";
        if (what == "audits.see_what_the_store_keeps_and_whose_it_is")
            return "the nodes know a claim by the value of one attempt, which is not its id";
        if (what == "names of holders") return "a key of SET NX has a random value, which does not say whose it is";
        return {};
    }

    remains remains_at(const std::string& url) const override {
        std::size_t keys = 0;
        const auto clean = [&] {  // the answers of a majority suffice: the last nodes may be releasing yet
            keys = 0;
            for (std::size_t i = 0; i < nodes_->size(); ++i) keys += nodes_->keys(i, prefix_in(url)).size();
            return keys == 0;
        };
        return {.clean = testing::eventually(clean, std::chrono::seconds{2}),
                .figures = "keys=" + std::to_string(keys)};
    }

    // What a majority keeps.
    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        std::map<std::pair<std::string, std::string>, std::size_t> votes;
        for (std::size_t i = 0; i < nodes_->size(); ++i)
            for (const auto& one : nodes_->keys(i, prefix_in(url))) ++votes[one];
        std::vector<spi::stored_claim> all;
        for (const auto& [one, count] : votes)
            if (2 * count > nodes_->size())
                all.push_back({.name = one.first.substr(prefix_in(url).size()),
                               .id = id_in(one.second),
                               .holds = true,
                               .where = one.first});
        return all;
    }

private:
    static std::string prefix_in(const std::string& url) { return url.substr(url.rfind("key_prefix=") + 11); }
    static claim_id id_in(std::string_view hex) {
        claim_id id;
        for (std::size_t i = 0; i < 2 && hex.size() >= 32; ++i)
            std::from_chars(hex.data() + 16 * i, hex.data() + 16 * (i + 1), id.bits[i], 16);
        return id;
    }

    std::unique_ptr<servers::nodes> nodes_;
    int made_ = 0;
};

}  // namespace

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<redlock_fixture>());
    return all;
}

}  // namespace mortise::inline v0::stores::redlock
