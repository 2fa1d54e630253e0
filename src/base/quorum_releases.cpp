#include "base/quorum_releases.hpp"

#include "base/quorum_claims.hpp"
#include "base/quorum_vote.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::base {

spi::task quorum_release_round::expire(spi::time_point) {
    return releases.conclude(*this);
}

bool quorum_release_round::certain() const {
    const auto released = std::count(said.begin(), said.end(), spi::release_answer::released);
    return static_cast<std::size_t>(released) >= majority_of(said.size());
}

void quorum_releases::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    const spi::time_point now = desk_.context.clock.now();
    claims_given_up given_up;
    round_ptr round;
    std::vector<std::size_t> places;
    {
        quorum_desk::lock held{desk_.mutex};
        if (desk_.closed) return;
        forget_unsure(now);
        if (const ended_claim* const before = desk_.ended.find(id, now); before != nullptr) {
            const auto answer = static_cast<spi::release_answer>(before->answer);
            held.unlock();
            return done(answer);
        }
        quorum_entry& mine = entry_of(name, id);
        given_up = give_up_claim(mine);
        if (!mine.releasing)
            mine.releasing = std::make_shared<quorum_release_round>(*this, id, name, mine.value, desk_.nodes.size());
        round = mine.releasing;
        round->replies.push_back(std::move(done));
        for (std::size_t i = 0; i < desk_.nodes.size(); ++i)
            if (round->said[i] == spi::release_answer::unknown && std::exchange(round->asked[i], 1) == 0)
                places.push_back(i);
        if (!round->open()) desk_.rounds.begin(round, now + desk_.time_for(mine.lease));
    }
    for (const std::size_t i : places)
        desk_.nodes[i]->store().release(name, round->value,
                                        [this, round, i](spi::release_answer answer) { answered(round, i, answer); });
    for (auto& claimed : given_up) claimed({.is = spi::claim_answer::verdict::refused, .reason = errc::cancelled});
    desk_.rounds.watch();
}

// An id that nothing is known of is no claim, and the nodes say whose the name is.
quorum_entry& quorum_releases::entry_of(std::string_view name, const claim_id& id) {
    const auto [found, stranger] = desk_.entries.try_emplace(id);
    if (stranger) found->second = {.name = std::string(name), .value = id, .lease = *desk_.promises.default_lease};
    return found->second;
}

quorum_releases::claims_given_up quorum_releases::give_up_claim(quorum_entry& mine) {
    if (!mine.claiming) return {};
    claims_given_up replies = std::move(mine.claiming->replies);
    desk_.rounds.end(*mine.claiming);
    mine.claiming.reset();
    return replies;
}

void quorum_releases::answered(const round_ptr& round, std::size_t node, spi::release_answer answer) {
    spi::task todo;
    std::optional<spi::time_point> repeat_until;
    {
        quorum_desk::lock held{desk_.mutex};
        round->asked[node] = 0;
        if (round->said[node] == spi::release_answer::unknown) round->said[node] = answer;
        if (!round->open()) {
            if (answer != spi::release_answer::unknown || !round->until) return;
            repeat_until = round->until;
        } else {
            if (!round->certain() && round->missing() > 0) return;
            todo = conclude(*round);
        }
    }
    if (repeat_until) return desk_.nodes[node]->give_back(round->name, round->value, *repeat_until);
    todo();
}

spi::task quorum_releases::conclude(quorum_release_round& round) {
    desk_.rounds.end(round);
    const spi::time_point now = desk_.context.clock.now();
    const spi::release_answer answer = released_by(round.said);
    const auto found = desk_.entries.find(round.id);
    const spi::time_point until = desk_.gone_by(found->second.lease);
    std::vector<std::size_t> places;
    round_ptr mine = found->second.releasing;
    if (answer == spi::release_answer::unknown) {
        unsure_.emplace_back(until, round.id);
    } else {
        round.until = until;
        for (std::size_t i = 0; i < desk_.nodes.size(); ++i)
            if (round.said[i] == spi::release_answer::unknown && round.asked[i] == 0) places.push_back(i);
        desk_.entries.erase(found);
        desk_.ended.add(ended_claim::at(now, round.id, answer), now);
    }
    return [this, answer, until, replies = std::move(round.replies), places = std::move(places),
            mine = std::move(mine)]() mutable {
        for (const std::size_t i : places) desk_.nodes[i]->give_back(mine->name, mine->value, until);
        for (auto& done : replies) done(answer);
    };
}

// The core repeats a release for as long as a node may keep the claim, and no longer.
void quorum_releases::forget_unsure(spi::time_point now) {
    for (; !unsure_.empty() && unsure_.front().first < now; unsure_.pop_front()) {
        const auto found = desk_.entries.find(unsure_.front().second);
        if (found != desk_.entries.end() && found->second.releasing && !found->second.releasing->open())
            desk_.entries.erase(found);
    }
}

}  // namespace mortise::inline v0::base
