#include "base/quorum_tokens.hpp"

#include "base/quorum_vote.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::inline v0::base {
namespace {

// Vouching ends the attempts of other clients that are under way.
constexpr spi::duration between_repairs = std::chrono::seconds{1};

bool is_whole(const std::optional<spi::token_memory>& one) {
    return one && one->whole;
}

}  // namespace

// All nodes vouch, and those that have forgotten are told then.
struct quorum_tokens::repair final : quorum_round {
    repair(quorum_tokens& in, std::size_t nodes) : tokens(in), memories(nodes), missing(nodes) {}
    spi::task expire(spi::time_point) override { return tokens.conclude(*this); }

    bool certain() const {
        const auto whole = std::count_if(memories.begin(), memories.end(), is_whole);
        const bool some = std::any_of(memories.begin(), memories.end(), [](const auto& m) { return m && !m->whole; });
        return missing == 0 || (some && static_cast<std::size_t>(whole) >= majority_of(memories.size()));
    }

    quorum_tokens& tokens;
    token_vote::memories memories;
    std::size_t missing;
};

quorum_tokens::quorum_tokens(quorum_desk& desk)
    : desk_(desk), known_(desk.nodes.size()), asked_(desk.nodes.size()), waiting_(desk.nodes.size()) {}

void quorum_tokens::judge(std::size_t node, spi::reply<std::string> then) {
    {
        quorum_desk::lock held{desk_.mutex};
        if (desk_.closed) return;
        if (!is_whole(known_[node])) {
            waiting_[node].push_back(std::move(then));
            held.unlock();
            return look(node);
        }
    }
    then({});
}

void quorum_tokens::prepare() {
    for (std::size_t i = 0; i < desk_.nodes.size(); ++i) {
        {
            quorum_desk::lock held{desk_.mutex};
            if (known_[i]) continue;
        }
        look(i);
    }
}

void quorum_tokens::doubt(std::size_t node) {
    {
        quorum_desk::lock held{desk_.mutex};
        known_[node].reset();
    }
    look(node);
}

// Once at a time. If there is no answer, whoever waited for it has given up by then, except for the latest.
void quorum_tokens::look(std::size_t node) {
    std::vector<spi::reply<std::string>> given_up;
    {
        quorum_desk::lock held{desk_.mutex};
        const spi::time_point now = desk_.context.clock.now();
        if (desk_.closed || (asked_[node] && now < *asked_[node] + desk_.options.node_timeout)) return;
        if (asked_[node] && waiting_[node].size() > 1) {
            given_up = std::move(waiting_[node]);
            waiting_[node].clear();
            waiting_[node].push_back(std::move(given_up.back()));
            given_up.pop_back();
        }
        asked_[node] = now;
    }
    desk_.nodes[node]->store().recall_tokens({}, [this, node](const memory& said) { heard(node, said); });
}

std::string quorum_tokens::doubts() const {
    return failed_.empty() ? "granted it, and has not said yet what it remembers of its tokens" : failed_;
}

void quorum_tokens::heard(std::size_t node, const memory& said) {
    spi::task todo;
    {
        quorum_desk::lock held{desk_.mutex};
        asked_[node].reset();
        known_[node] = said;
        if (is_whole(said)) todo = tell({node}, {});
        if (!said) todo = tell({node}, "did not say what it remembers of its tokens");
    }
    if (todo) return todo();
    begin_repair();
}

void quorum_tokens::begin_repair() {
    std::shared_ptr<repair> round;
    spi::task todo;
    {
        quorum_desk::lock held{desk_.mutex};
        if (desk_.closed || repair_) return;
        const spi::time_point now = desk_.context.clock.now();
        if (now < next_repair_) {
            todo = tell(forgetful(), failed_);
        } else {
            round = repair_ = std::make_shared<repair>(*this, desk_.nodes.size());
            desk_.rounds.begin(round, now + desk_.options.node_timeout);
        }
    }
    if (todo) return todo();
    for (std::size_t i = 0; i < desk_.nodes.size(); ++i)
        desk_.nodes[i]->store().recall_tokens({.what = spi::recall_request::change::vouch},
                                              [this, round, i](const memory& said) { vouched(round, i, said); });
    desk_.rounds.watch();
}

void quorum_tokens::vouched(const std::shared_ptr<repair>& round, std::size_t node, const memory& said) {
    spi::task todo;
    {
        quorum_desk::lock held{desk_.mutex};
        if (said) known_[node] = said;
        if (!round->open()) return;
        round->memories[node] = said;
        --round->missing;
        if (!round->certain()) return;
        todo = conclude(*round);
    }
    todo();
}

spi::task quorum_tokens::conclude(repair& round) {
    desk_.rounds.end(round);
    repair_.reset();
    next_repair_ = desk_.context.clock.now() + between_repairs;
    const auto floor = floor_of_forgotten(round.memories);
    if (!floor) {
        failed_ = why_not(round.memories);
        return tell(forgetful(), failed_);
    }
    failed_ = "has forgotten its tokens, and was not told in time how large they were";
    std::vector<std::pair<std::size_t, claim_id>> told;
    for (std::size_t i = 0; i < round.memories.size(); ++i)
        if (round.memories[i] && !round.memories[i]->whole) told.emplace_back(i, round.memories[i]->version);
    return [this, told = std::move(told), floor = *floor] {
        for (const auto& [node, version] : told)
            desk_.nodes[node]->store().recall_tokens(
                {.what = spi::recall_request::change::restore, .version = version, .floor = floor},
                [this, i = node](const memory& said) { restored(i, said); });
    };
}

void quorum_tokens::restored(std::size_t node, const memory& said) {
    spi::task todo;
    {
        quorum_desk::lock held{desk_.mutex};
        known_[node] = said;
        todo = tell({node}, is_whole(said) ? std::string{} : failed_);
    }
    todo();
}

spi::task quorum_tokens::tell(const std::vector<std::size_t>& nodes, const std::string& why) {
    std::vector<spi::reply<std::string>> all;
    for (const std::size_t node : nodes)
        for (auto& then : std::exchange(waiting_[node], {})) all.push_back(std::move(then));
    return [all = std::move(all), why]() mutable {
        for (auto& then : all) then(why);
    };
}

std::vector<std::size_t> quorum_tokens::forgetful() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < known_.size(); ++i)
        if (!is_whole(known_[i])) all.push_back(i);
    return all;
}

std::string quorum_tokens::why_not(const token_vote::memories& vouched) const {
    const std::string all = std::to_string(vouched.size());
    const auto whole = std::count_if(vouched.begin(), vouched.end(), is_whole);
    if (whole == 0) return "has no tokens yet: before the first claim all " + all + " nodes must answer once";
    return "has forgotten its tokens, and " + std::to_string(majority_of(vouched.size())) + " of " + all +
           " nodes must tell how large they were; " + std::to_string(whole) + " remember theirs";
}

}  // namespace mortise::inline v0::base
