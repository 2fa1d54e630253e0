#include "stores/redis/sent_claims.hpp"

namespace mortise::inline v0::stores::redis {

bool sent_claims::may_be_plain(const claim_id& id, spi::time_point now) {
    return !claims_.contains(id) && unsure_.find(id, now) == nullptr && in_vain_.find(id, now) == nullptr;
}

void sent_claims::asked(const claim_id& id, by how) {
    state& one = claims_[id];
    ++(how == by::script ? one.scripts : one.plain_commands);
}

void sent_claims::answered(const claim_id& id, by how, spi::claim_answer::verdict is, const terms& claimed) {
    using enum spi::claim_answer::verdict;
    const auto found = claims_.find(id);
    if (found == claims_.end()) return;  // it was released
    state& one = found->second;
    unsigned& out = how == by::script ? one.scripts : one.plain_commands;
    if (out > 0) --out;
    if (is == unknown) (how == by::script ? one.doubted : one.may_come) = true;
    if (is == granted) {
        one.held = true;
        one.claimed = claimed;
    }
    const bool open = one.scripts + one.plain_commands > 0 || one.doubted || one.may_come || one.held || one.releasing;
    if (!open) claims_.erase(found);
}

bool sent_claims::goes_on_by_script(const claim_id& id) {
    const auto found = claims_.find(id);
    if (found == claims_.end()) return false;
    state& one = found->second;
    if (one.plain_commands > 0) --one.plain_commands;
    if (one.releasing) return false;
    ++one.scripts;
    return true;
}

unsigned sent_claims::replicas_of(const claim_id& id) const {
    const auto found = claims_.find(id);
    return found != claims_.end() && found->second.held ? found->second.claimed.replicas : 0;
}

bool sent_claims::releasing(const claim_id& id, spi::time_point now) {
    const auto found = claims_.find(id);
    if (found == claims_.end()) {
        in_vain_.add(base::ended_claim::at(now, id, std::nullopt), now);
        return true;
    }
    state& one = found->second;
    one.releasing = true;
    if (one.scripts > 0 || one.doubted) return true;
    const bool all_plain = one.plain_commands > 0 || one.may_come;  // and so this client's alone
    return one.held ? !one.claimed.own : !all_plain;
}

sent_claims::release_outcome sent_claims::released(const claim_id& id, spi::release_answer answer,
                                                   spi::time_point now) {
    using enum spi::release_answer;
    if (answer == unknown) {
        unsure_.add(base::ended_claim::at(now, id, std::nullopt), now);
        return {};
    }
    release_outcome outcome{.answer = answer};
    if (answer != spi::release_answer::released) {
        in_vain_.add(base::ended_claim::at(now, id, answer), now);
        if (unsure_.find(id, now) != nullptr) outcome.answer = spi::release_answer::released;
    }
    if (const auto found = claims_.find(id); found != claims_.end()) {
        outcome.may_come = found->second.may_come || found->second.plain_commands > 0;
        claims_.erase(found);
    }
    return outcome;
}

}  // namespace mortise::inline v0::stores::redis
