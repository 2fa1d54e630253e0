#include "stores/redlock/fixture.hpp"

#include "checker/faults/movable_clock.hpp"
#include "stores/redis/servers/records.hpp"
#include "stores/redlock/servers/nodes.hpp"
#include "support/waiting.hpp"

#include <mortise/claim_id.hpp>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redlock {
namespace {

// Five servers, started by the first fresh_url().
class redlock_fixture : public spi::fixture {
public:
    std::chrono::milliseconds frees_the_dead_after() const noexcept override { return std::chrono::milliseconds{100}; }

    // A busy machine must not be taken for dead nodes.
    std::string fresh_url() override {
        if (!nodes_) start();
        return "redlock://" + nodes_->hosts() + "?node_timeout=5s&" + prefix() + "=t" + std::to_string(++made_) + ":";
    }

    std::string reason_against(std::string_view what) const override {
        if (what == "audits.see_what_the_store_keeps_and_whose_it_is")
            return "the nodes know a claim by the value of one attempt, which is not its id";
        return {};
    }

    remains remains_at(const std::string& url) const override {
        std::size_t claims = 0;
        const auto clean = [&] {  // the answers of a majority suffice: the last nodes may be releasing yet
            claims = 0;
            for (std::size_t i = 0; i < nodes_->size(); ++i) claims += claims_on(i, prefix_in(url)).size();
            return claims == 0;
        };
        return {.clean = testing::eventually(clean, std::chrono::seconds{2}),
                .figures = "claims=" + std::to_string(claims)};
    }

    // What a majority keeps.
    std::vector<spi::stored_claim> records_at(const std::string& url) const override {
        std::map<std::pair<std::string, claim_id>, std::size_t> votes;
        std::vector<spi::stored_claim> all;
        for (std::size_t i = 0; i < nodes_->size(); ++i)
            for (const spi::stored_claim& one : claims_on(i, prefix_in(url)))
                if (++votes[{one.name, one.id}] == majority()) all.push_back(one);
        return all;
    }

    std::vector<spi::server_fault> faults() override {
        if (clocks_.empty()) return {};
        return {{.name = "clocks of a majority jump",
                 .forgets = true,
                 .strike =
                     [this] {
                         ahead_ += std::chrono::hours{1};  // never back: what was granted meanwhile would last as long
                         for (std::size_t i = 0; i < majority(); ++i) clocks_[i]->set(ahead_);
                         return true;
                     },
                 .heal = [this] { return seconds_at(0) - seconds_at(majority()) > ahead_.count() - 60; }}};
    }

protected:
    servers::nodes& nodes() const { return *nodes_; }

private:
    static constexpr std::size_t size = 5;

    // With clocks that can be set, if the environment names the library for that.
    void start() {
        std::vector<std::vector<std::string>> run_by;
        if (const char* shim = std::getenv("MORTISE_WALL_CLOCK_SHIM"))
            for (std::size_t i = 0; i < size; ++i) {
                clocks_.push_back(std::make_unique<testing::movable_clock>(shim));
                run_by.push_back(clocks_.back()->command());
            }
        nodes_ = std::make_unique<servers::nodes>(size, run_by);
    }
    static constexpr std::size_t majority() { return size / 2 + 1; }
    std::int64_t seconds_at(std::size_t node) { return std::stoll((*nodes_)[node].command({"time"})); }

    virtual std::string prefix() const = 0;  // the option
    virtual std::vector<spi::stored_claim> claims_on(std::size_t node, const std::string& prefix) const = 0;
    static std::string prefix_in(const std::string& url) { return url.substr(url.rfind('=') + 1); }

    std::vector<std::unique_ptr<testing::movable_clock>> clocks_;
    std::unique_ptr<servers::nodes> nodes_;
    std::chrono::seconds ahead_{0};
    int made_ = 0;
};

class plain_fixture final : public redlock_fixture {
public:
    std::string_view store() const noexcept override { return "redlock"; }

    std::string reason_against(std::string_view what) const override {
        if (what == "shared_mutex" || what == "semaphore") return "a key of SET NX is one holder's, whole";
        if (what == "names of holders") return "a key of SET NX has a random value, which does not say whose it is";
        return redlock_fixture::reason_against(what);
    }

private:
    std::string prefix() const override { return "key_prefix"; }

    std::vector<spi::stored_claim> claims_on(std::size_t node, const std::string& prefix) const override {
        std::vector<spi::stored_claim> all;
        for (const auto& [key, value] : nodes().keys(node, prefix))
            all.push_back({.name = key.substr(prefix.size()), .id = id_in(value), .holds = true, .where = key});
        return all;
    }
    static claim_id id_in(std::string_view hex) {
        claim_id id;
        for (std::size_t i = 0; i < 2 && hex.size() >= 32; ++i)
            std::from_chars(hex.data() + 16 * i, hex.data() + 16 * (i + 1), id.bits[i], 16);
        return id;
    }
};

// With tokens, on nodes that keep locks in our own protocol.
class fenced_fixture final : public redlock_fixture {
public:
    std::string_view store() const noexcept override { return "redlock_fenced"; }

    std::string reason_against(std::string_view what) const override {
        if (what == "shared_mutex" || what == "semaphore") return "a majority grants a lock to one holder, whole";
        if (what == "names of holders" || what == "tokens of holders")
            return "the nodes may name different holders, so none is named";
        if (what == "outside.a_lock_is_broken_if_it_is_still_the_one_that_was_looked_at" ||
            what == "elected.a_term_that_is_taken_away_is_told_and_can_be_won_again" ||
            what == "multi.if_one_is_lost_all_are_free")
            return "a lock on several nodes cannot be broken, since it cannot be listed either";
        return redlock_fixture::reason_against(what);
    }

private:
    std::string prefix() const override { return "fenced=true&prefix"; }

    std::vector<spi::stored_claim> claims_on(std::size_t node, const std::string& prefix) const override {
        return redis::servers::records_of({&nodes()[node]}, prefix);
    }
};

}  // namespace

spi::fixtures make_fixtures() {
    spi::fixtures all;
    all.push_back(std::make_unique<plain_fixture>());
    all.push_back(std::make_unique<fenced_fixture>());
    return all;
}

}  // namespace mortise::inline v0::stores::redlock
