#include "base/quorum_renewals.hpp"

#include "base/quorum_vote.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::base {

// Several holds are renewed in one request to each node.
struct quorum_renewals::round final : quorum_round {
    struct one {
        std::string name;
        claim_id id;       // the core's
        claim_id value{};  // the nodes'
        spi::duration lease{};
        bool known = false;
        std::size_t renewed = 0;
        std::size_t lost = 0;
        std::vector<std::size_t> lost_at{};
    };

    round(quorum_renewals& in, spi::duration wait, spi::reply<std::vector<spi::renewal_answer>> then)
        : renewals(in), patience(wait), done(std::move(then)) {}
    spi::task expire(spi::time_point) override { return renewals.conclude(*this); }

    std::vector<spi::renewal_answer> answers(std::size_t nodes) const {
        std::vector<spi::renewal_answer> all;
        for (const one& each : claims)
            all.push_back(each.known ? renewed_by(nodes, each.renewed, each.lost) : spi::renewal_answer::lost);
        return all;
    }

    quorum_renewals& renewals;
    spi::duration patience;
    spi::reply<std::vector<spi::renewal_answer>> done;
    std::vector<one> claims;
    std::vector<std::size_t> known;  // places of those that the nodes are asked for
    std::size_t missing = 0;         // nodes
};

void quorum_renewals::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    const auto asked = std::make_shared<round>(*this, desk_.options.node_timeout, std::move(done));
    {
        quorum_desk::lock held{desk_.mutex};
        if (desk_.closed) return;
        asked->claims.reserve(due.size());
        for (const spi::renewal& one : due) add(*asked, one);
        asked->missing = desk_.nodes.size();
        if (!asked->known.empty()) desk_.rounds.begin(asked, desk_.context.clock.now() + asked->patience);
    }
    if (asked->known.empty()) return asked->done(asked->answers(desk_.nodes.size()));
    ask(asked);
    desk_.rounds.watch();
}

void quorum_renewals::add(round& to, const spi::renewal& due) {
    const auto found = desk_.entries.find(due.id);
    const bool known = found != desk_.entries.end() && found->second.granted && !found->second.releasing;
    to.claims.push_back({.name = std::string(due.name), .id = due.id, .lease = due.lease, .known = known});
    if (!known) return;
    to.claims.back().value = found->second.value;
    found->second.lease = std::max(found->second.lease, due.lease);
    to.known.push_back(to.claims.size() - 1);
    if (due.lease > spi::duration::zero()) to.patience = std::min(to.patience, desk_.time_for(due.lease));
}

void quorum_renewals::ask(const round_ptr& asked) {
    std::vector<spi::renewal> all;
    for (const std::size_t place : asked->known) {
        const round::one& mine = asked->claims[place];
        all.push_back({mine.name, mine.value, mine.lease});
    }
    for (std::size_t i = 0; i < desk_.nodes.size(); ++i)
        desk_.nodes[i]->store().renew(all, [this, asked, i](const std::vector<spi::renewal_answer>& answers) {
            std::vector<spi::renewal_answer> placed(asked->claims.size(), spi::renewal_answer::unknown);
            for (std::size_t n = 0; n < std::min(asked->known.size(), answers.size()); ++n)
                placed[asked->known[n]] = answers[n];
            answered(asked, i, placed);
        });
}

void quorum_renewals::answered(const round_ptr& asked, std::size_t node,
                               const std::vector<spi::renewal_answer>& answers) {
    spi::task todo;
    {
        quorum_desk::lock held{desk_.mutex};
        const bool late = !asked->open();
        for (std::size_t i = 0; i < answers.size(); ++i) {
            round::one& one = asked->claims[i];
            if (answers[i] == spi::renewal_answer::lost) one.lost_at.push_back(node);
            if (late) continue;
            if (answers[i] == spi::renewal_answer::renewed) ++one.renewed;
            if (answers[i] == spi::renewal_answer::lost) ++one.lost;
        }
        if (!late && --asked->missing > 0) {
            const auto all = asked->answers(desk_.nodes.size());
            if (std::count(all.begin(), all.end(), spi::renewal_answer::unknown) > 0) return;
        }
        todo = late ? give_again(*asked) : conclude(*asked);
    }
    todo();
}

spi::task quorum_renewals::conclude(round& ended) {
    desk_.rounds.end(ended);
    return [again = give_again(ended), answers = ended.answers(desk_.nodes.size()),
            done = std::move(ended.done)]() mutable {
        again();
        done(std::move(answers));
    };
}

// A majority has a hold, so nobody else can: the nodes that have forgotten it are given it again, and count from the next
// renewal on. What has forgotten a hold may have forgotten its tokens.
spi::task quorum_renewals::give_again(round& renewed) {
    std::vector<std::pair<std::size_t, round::one>> again;
    const auto answers = renewed.answers(desk_.nodes.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
        round::one& one = renewed.claims[i];
        const auto forgotten_at = std::exchange(one.lost_at, {});
        const auto found = desk_.entries.find(one.id);
        if (answers[i] != spi::renewal_answer::renewed || one.lease == spi::duration::zero()) continue;
        if (found == desk_.entries.end() || found->second.releasing) continue;
        for (const std::size_t node : forgotten_at) again.emplace_back(node, one);
    }
    return [this, again = std::move(again)] {
        for (const auto& [node, one] : again) {
            desk_.nodes[node]->store().claim({.name = one.name, .id = one.value, .lease = one.lease},
                                             [](const spi::claim_answer&) {});
            if (tokens_ != nullptr) tokens_->doubt(node);
        }
    };
}

}  // namespace mortise::inline v0::base
