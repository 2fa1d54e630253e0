#include "base/quorum_claims.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

#include <optional>
#include <utility>

namespace mortise::inline v0::base {

spi::task quorum_claim_round::expire(spi::time_point now) {
    if (pausing) return claims.try_again(*this, now);
    vote.poll(now);
    return claims.conclude(*this);
}

void quorum_claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    const spi::time_point now = desk_.context.clock.now();
    round_ptr round;
    spi::claim_request asked = wanted;
    asked.lease = wanted.lease.value_or(*desk_.promises.default_lease);
    asked.queue = false;
    asked.instead_of = {};
    asked.wait_slot = 0;
    {
        quorum_desk::lock held{desk_.mutex};
        if (desk_.closed) return;
        const bool over = desk_.ended.find(wanted.id, now) != nullptr;
        if (over || desk_.entries[wanted.id].releasing) {
            held.unlock();
            return done({.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled});
        }
        quorum_entry& mine = desk_.entries[wanted.id];
        if (mine.claiming) return mine.claiming->replies.push_back(std::move(done));
        if (!mine.granted) mine = {.name = std::string(wanted.name), .value = claim_id::random()};
        mine.lease = *asked.lease;
        mine.label = wanted.label;
        asked.id = mine.value;
        mine.wanted = asked;
        round = begin(mine, wanted.id, now);
        round->replies.push_back(std::move(done));
    }
    ask(round, asked);
    desk_.rounds.watch();
}

quorum_claims::round_ptr quorum_claims::make_round(const quorum_entry& mine, const claim_id& id, spi::time_point now) {
    const spi::quorum_options& options = desk_.options;
    return std::make_shared<quorum_claim_round>(*this, id,
                                                quorum_vote::rules{.nodes = desk_.nodes.size(),
                                                                   .lease = mine.lease,
                                                                   .node_timeout = options.node_timeout,
                                                                   .min_validity = options.min_validity,
                                                                   .drift = options.drift,
                                                                   .margin = options.margin},
                                                now);
}

quorum_claims::round_ptr quorum_claims::begin(quorum_entry& mine, const claim_id& id, spi::time_point now) {
    mine.claiming = make_round(mine, id, now);
    desk_.rounds.begin(mine.claiming, mine.claiming->vote.deadline());
    return mine.claiming;
}

void quorum_claims::ask(const round_ptr& round, const spi::claim_request& asked) {
    for (std::size_t i = 0; i < desk_.nodes.size(); ++i) {
        {
            quorum_desk::lock held{desk_.mutex};
            if (!round->open() && round->vote.is() != quorum_vote::result::granted) break;
            round->asked[i] = 1;
        }
        desk_.nodes[i]->claim(asked, [this, round, i](node_vote vote) { answered(round, i, std::move(vote)); });
    }
}

void quorum_claims::answered(const round_ptr& round, std::size_t node, node_vote vote) {
    spi::task todo;
    {
        quorum_desk::lock held{desk_.mutex};
        if (!round->open()) return;
        const ballot is = vote.is;
        round->seen[node] = std::move(vote);
        if (round->vote.cast(node, is, desk_.context.clock.now()) == quorum_vote::result::open) return;
        todo = conclude(*round);
    }
    todo();
}

// If it failed, it is released wherever it may be, before the answer is given.
spi::task quorum_claims::conclude(quorum_claim_round& round) {
    desk_.rounds.end(round);
    const auto found = desk_.entries.find(round.id);
    quorum_entry& mine = found->second;
    spi::claim_answer answer = answer_of(round, desk_.context.clock.now());
    std::vector<std::size_t> places;
    std::string name;
    bool again = false;
    const claim_id value = mine.value;
    const spi::duration lease = mine.lease;
    const round_ptr kept = std::exchange(mine.claiming, nullptr);
    if (answer.is == spi::claim_answer::verdict::granted) {
        mine.granted = true;
    } else {
        for (std::size_t i = 0; i < desk_.nodes.size(); ++i)
            if (round.asked[i] != 0 && (mine.granted || round.vote.may_be_at(i))) places.push_back(i);
        name = mine.name;
        again = pause(round, mine);
        if (!again) desk_.entries.erase(found);
    }
    return [this, answer = std::move(answer), replies = std::move(round.replies), places = std::move(places),
            name = std::move(name), value, lease, again]() mutable {
        const spi::time_point until = desk_.gone_by(lease);
        for (const std::size_t i : places) desk_.nodes[i]->give_back(name, value, until);
        for (auto& done : replies) done(answer);
        if (again) desk_.rounds.watch();
    };
}

// Rivals have split the votes: the next attempt follows soon, with a value of its own. False: there is none.
bool quorum_claims::pause(quorum_claim_round& split, quorum_entry& mine) {
    if (mine.granted) return false;
    const spi::time_point now = desk_.context.clock.now();
    const claim_id value = claim_id::random();
    const double chance = static_cast<double>(value.bits[1] >> 11) / static_cast<double>(std::uint64_t{1} << 53);
    const auto wait = split.retries.pause(split.vote, now - split.vote.started(), chance);
    if (!wait) return false;
    mine.value = value;
    mine.claiming = make_round(mine, split.id, now);
    mine.claiming->pausing = true;
    mine.claiming->retries = split.retries;
    mine.claiming->replies = std::exchange(split.replies, {});
    desk_.rounds.begin(mine.claiming, now + *wait);
    return true;
}

spi::task quorum_claims::try_again(quorum_claim_round& paused, spi::time_point now) {
    desk_.rounds.end(paused);
    quorum_entry& mine = desk_.entries.at(paused.id);
    const round_ptr last = mine.claiming;  // is `paused`
    const round_ptr next = begin(mine, last->id, now);
    next->retries = last->retries;
    next->replies = std::move(last->replies);
    return [this, next, name = mine.name, label = mine.label, value = mine.value, asked = mine.wanted]() mutable {
        asked.name = name;
        asked.label = label;
        asked.id = value;
        ask(next, asked);
        desk_.rounds.watch();
    };
}

spi::claim_answer quorum_claims::answer_of(const quorum_claim_round& round, spi::time_point now) const {
    using enum spi::claim_answer::verdict;
    using result = quorum_vote::result;
    const quorum_vote& vote = round.vote;
    const std::size_t nodes = desk_.nodes.size();
    if (vote.is() == result::granted)
        return {.is = granted, .grant = {.lease = desk_.entries.at(round.id).lease, .counted_from = vote.started()}};
    if (vote.is() == result::busy) return held_by_others(round);
    spi::claim_answer no{.is = vote.is() == result::refused ? refused : unknown, .reason = errc::unreachable};
    no.unreached = vote.count(ballot::unreached) > nodes - majority_of(nodes);
    explain(round, now, no);
    return no;
}

spi::claim_answer quorum_claims::held_by_others(const quorum_claim_round& round) const {
    spi::claim_answer no{.is = spi::claim_answer::verdict::busy};
    no.standing.holder.emplace();
    std::vector<std::optional<spi::duration>> free;
    for (const node_vote& one : round.seen) free.push_back(one.free_in);
    no.standing.free_in = free_in_a_majority(std::move(free));
    return no;
}

// Of every node that did not grant it, why.
void quorum_claims::explain(const quorum_claim_round& round, spi::time_point now, spi::claim_answer& no) const {
    using result = quorum_vote::result;
    const quorum_vote& vote = round.vote;
    const spi::duration lease = desk_.entries.at(round.id).lease;
    const std::string all = std::to_string(desk_.nodes.size());
    if (vote.is() == result::too_late)
        no.detail = "granted by " + std::to_string(vote.count(ballot::granted)) + " of " + all + " nodes, but after " +
                    readable(now - vote.started()) + " too little of the lease of " + readable(lease) + " was left";
    else
        no.detail =
            std::to_string(majority_of(desk_.nodes.size())) + " of " + all + " nodes must grant it, and these did not";
    for (std::size_t i = 0; i < desk_.nodes.size(); ++i) {
        const node_vote& one = round.seen[i];
        const std::string& name = desk_.nodes[i]->name();
        if (vote.of(i) == ballot::granted || vote.of(i) == ballot::none) continue;
        if (vote.is() == result::refused && vote.of(i) == ballot::refused) no.reason = one.reason;
        const std::string why = one.why.empty() ? "no answer within " + readable(desk_.time_for(lease)) : one.why;
        no.detail += "; " + (why.find(name) == std::string::npos ? name + ": " : "") + why;
    }
}

}  // namespace mortise::inline v0::base
