#include "base/quorum_claims.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

#include <optional>
#include <utility>

namespace mortise::inline v0::base {
namespace {

std::string why_not_raised(spi::raise_answer::verdict answer) {
    switch (answer) {
        case spi::raise_answer::verdict::not_larger:
            return "has a larger token";
        case spi::raise_answer::verdict::lost:
            return "lost the claim before it had a token";
        case spi::raise_answer::verdict::forgot:
            return "has forgotten its tokens, or told another node of them meanwhile";
        default:
            return "did not answer";
    }
}

}  // namespace

spi::task quorum_claim_round::expire(spi::time_point now) {
    if (pausing) return claims.try_again(*this, now);
    if (!token) vote.poll(now);
    return claims.conclude(*this);
}

bool quorum_claim_round::too_late(spi::time_point now) const {
    if (!token) return vote.is() == quorum_vote::result::too_late;
    return token->is() == token_vote::result::agreed && !vote.in_time(now);
}

void quorum_claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    const spi::time_point now = desk_.context.clock.now();
    round_ptr round;
    spi::claim_request asked = wanted;
    asked.lease = wanted.lease.value_or(*desk_.promises.default_lease);
    asked.queue = false;
    asked.instead_of = {};
    asked.wait_slot = 0;
    asked.keeps = false;
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
    if (tokens_ != nullptr) tokens_->prepare();
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
    mine.claiming->wants_token = tokens_ != nullptr && !mine.granted;
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

// With tokens, a grant counts once it is known that the node has not forgotten its own.
void quorum_claims::answered(const round_ptr& round, std::size_t node, node_vote vote) {
    if (!round->wants_token || vote.is != ballot::granted) return voted(round, node, std::move(vote));
    {
        quorum_desk::lock held{desk_.mutex};
        round->seen[node].why = tokens_->doubts();
    }
    tokens_->judge(node, [this, round, node, vote = std::move(vote)](std::string why) mutable {
        if (!why.empty()) {
            vote.is = ballot::abstained;
            vote.free_in.reset();
            vote.why = std::move(why);
        }
        voted(round, node, std::move(vote));
    });
}

void quorum_claims::voted(const round_ptr& round, std::size_t node, node_vote vote) {
    spi::task todo;
    {
        quorum_desk::lock held{desk_.mutex};
        if (!round->open()) return;
        todo = count(round, node, std::move(vote));
    }
    if (todo) todo();
}

spi::task quorum_claims::count(const round_ptr& round, std::size_t node, node_vote vote) {
    const ballot is = vote.is;
    const std::uint64_t counter = vote.counter;
    round->seen[node] = std::move(vote);
    if (round->token) {  // it comes late, and may help to agree on the token
        if (is == ballot::granted)
            round->token->granted(node, counter);
        else
            round->token->not_granted(node);
        return raise_more(round);
    }
    const auto result = round->vote.cast(node, is, desk_.context.clock.now());
    if (result == quorum_vote::result::open) return {};
    if (result == quorum_vote::result::granted && round->wants_token) return begin_raising(round);
    return conclude(*round);
}

// The nodes' time begins anew; that of the lease does not.
spi::task quorum_claims::begin_raising(const round_ptr& round) {
    desk_.rounds.end(*round);
    desk_.rounds.begin(round, desk_.context.clock.now() + desk_.time_for(desk_.entries.at(round->id).lease));
    round->token.emplace(tokens_->known());
    for (std::size_t i = 0; i < desk_.nodes.size(); ++i) {
        if (round->vote.of(i) == ballot::granted)
            round->token->granted(i, round->seen[i].counter);
        else if (round->vote.of(i) != ballot::none)
            round->token->not_granted(i);
    }
    return raise_more(round);
}

spi::task quorum_claims::raise_more(const round_ptr& round) {
    std::vector<token_vote::order> orders = round->token->next();
    if (round->token->is() != token_vote::result::open) return conclude(*round);
    if (orders.empty()) return {};
    const quorum_entry& mine = desk_.entries.at(round->id);
    return [this, round, orders = std::move(orders), name = mine.name, value = mine.value] {
        for (const token_vote::order& one : orders)
            desk_.nodes[one.node]->store().raise_token(
                {.name = name, .id = value, .to = one.to, .version = one.version},
                [this, round, one](const spi::raise_answer& answer) { raised(round, one, answer); });
        desk_.rounds.watch();
    };
}

void quorum_claims::raised(const round_ptr& round, const token_vote::order& which, const spi::raise_answer& answer) {
    spi::task todo;
    {
        quorum_desk::lock held{desk_.mutex};
        if (round->open()) {
            if (answer.is != spi::raise_answer::verdict::raised)
                round->seen[which.node].why = why_not_raised(answer.is);
            round->token->answered(which, answer);
            todo = raise_more(round);
        }
    }
    if (todo) todo();
    if (answer.is == spi::raise_answer::verdict::forgot) tokens_->doubt(which.node);
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
        mine.counter = answer.grant.counter;
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
    const quorum_entry& mine = desk_.entries.at(round.id);
    const std::size_t nodes = desk_.nodes.size();
    const bool agreed = round.token && round.token->is() == token_vote::result::agreed && vote.in_time(now);
    if (vote.is() == result::granted && (agreed || !round.wants_token))
        return {.is = granted,
                .grant = {.counter = agreed ? round.token->token() : mine.counter,
                          .lease = mine.lease,
                          .counted_from = vote.started()}};
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
    if (round.too_late(now))
        no.detail = "granted by " + std::to_string(vote.count(ballot::granted)) + " of " + all + " nodes, but after " +
                    readable(now - vote.started()) + " too little of the lease of " + readable(lease) + " was left";
    else
        no.detail = std::to_string(majority_of(desk_.nodes.size())) + " of " + all + " nodes must " +
                    (round.token ? "agree on its token" : "grant it") + ", and these did not";
    for (std::size_t i = 0; i < desk_.nodes.size(); ++i) {
        const node_vote& one = round.seen[i];
        const std::string& name = desk_.nodes[i]->name();
        if (one.why.empty() && (vote.of(i) == ballot::granted || vote.of(i) == ballot::none)) continue;
        if (vote.is() == result::refused && vote.of(i) == ballot::refused) no.reason = one.reason;
        const std::string why = one.why.empty() ? "no answer within " + readable(desk_.time_for(lease)) : one.why;
        no.detail += "; " + (why.find(name) == std::string::npos ? name + ": " : "") + why;
    }
}

}  // namespace mortise::inline v0::base
