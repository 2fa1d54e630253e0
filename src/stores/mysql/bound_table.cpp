#include "stores/mysql/bound_table.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::mysql {
namespace {

using claim_is = spi::claim_answer::verdict;
using action_kind = bound_table::action::kind;
using verdict = bound_table::taken::verdict;

// After which a claim that waits is told so.
constexpr std::chrono::milliseconds told_after{100};
constexpr std::chrono::milliseconds pause_for{100};

}  // namespace

bound_table::bound_table(std::size_t connections, spi::duration longest_lease)
    : connections_(connections), longest_lease_(longest_lease) {
    for (place one = connections; one > 0; --one) free_.push_back(one - 1);
}

spi::claim_answer bound_table::granted_as(const entry& one) {
    return {.is = claim_is::granted,
            .grant = {.counter = one.counter, .lease = one.lease, .counted_from = one.counted_from}};
}

bound_table::action bound_table::statement(action_kind what, const entry& one) {
    return {.what = what,
            .id = one.id,
            .name = one.name,
            .label = one.label,
            .where = one.where,
            .session = one.session,
            .counter = one.counter,
            .waits = one.queue};
}

void bound_table::tell(entry& one, spi::claim_answer answer, actions& out) {
    const action_kind what = answer.is == claim_is::granted && !one.asked ? action_kind::granted : action_kind::answer;
    if (what == action_kind::answer && !one.asked) return;
    one.asked = false;
    out.push_back({.what = what,
                   .id = one.id,
                   .name = what == action_kind::granted ? one.name : std::string{},
                   .answer_is = std::move(answer)});
}

// ---- claims

bound_table::actions bound_table::ask(const spi::claim_request& wanted, spi::time_point now) {
    actions out;
    const auto refuse = [&](errc reason, std::string detail) {
        out.push_back({.what = action_kind::answer,
                       .id = wanted.id,
                       .answer_is = {.is = claim_is::refused, .reason = reason, .detail = std::move(detail)}});
    };
    if (ended_.find(wanted.id, now) != nullptr) {
        refuse(errc::cancelled, {});
        return out;
    }
    auto found = claims_.find(wanted.id);
    if (found == claims_.end()) {
        if (free_.empty()) {
            refuse(errc::exhausted, "each of this client's " + std::to_string(connections_) +
                                        " connections holds a lock or waits for one; raise the option connections, or "
                                        "use strategy=row, which shares them");
            return out;
        }
        entry& one = claims_[wanted.id];
        one.id = wanted.id;
        one.name = wanted.name;
        one.label = wanted.label;
        one.lease = std::min(wanted.lease.value_or(longest_lease_), longest_lease_);
        one.where = free_.back();
        free_.pop_back();
        one.asked = true;
        one.queue = wanted.queue;
        take(one, now, out);
        return out;
    }
    entry& one = found->second;
    one.asked = true;
    if (!wanted.queue && one.queue) one.withdrawn = true;
    switch (one.is) {
        case phase::held:
            tell(one, granted_as(one), out);
            break;
        case phase::pausing:
            if (gives_up(one)) {
                tell(one, {.is = claim_is::busy}, out);
                over(one.id, now, out);
            } else {
                const bool final = one.trouble->is == claim_is::refused;
                tell(one, *one.trouble, out);
                if (final) over(one.id, now, out);
            }
            break;
        case phase::taking:
            if (gives_up(one))
                out.push_back(statement(action_kind::stop, one));
            else if (one.told)
                tell(one, {.is = claim_is::queued}, out);
            break;
        default:
            break;  // an answer is on its way
    }
    return out;
}

void bound_table::take(entry& one, spi::time_point now, actions& out) {
    one.is = phase::taking;
    one.since = now;
    out.push_back(statement(action_kind::take, one));
}

// A claim that nobody asks about at the moment tries again by itself; the next question is told why.
void bound_table::pause(entry& one, const spi::claim_answer& why, spi::time_point now, actions& out) {
    const bool final = why.is == claim_is::refused || !one.queue;
    if (one.asked && (final || !one.told)) {
        tell(one, why, out);
        return over(one.id, now, out);
    }
    tell(one, why, out);
    one.trouble = why;
    one.is = phase::pausing;
    one.since = now;
}

bound_table::actions bound_table::took(const claim_id& id, const taken& how, spi::time_point now) {
    actions out;
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::taking) return out;
    entry& one = found->second;
    if (how.is == verdict::yes) {
        one.session = how.session;
        one.counter = how.counter;
        one.counted_from = how.sent;
        if (gives_up(one)) {
            leave(one, out);
        } else if (how.counter == 0) {
            one.is = phase::stamping;
            out.push_back(statement(action_kind::stamp, one));
        } else {
            grant(one, now, out);
        }
        return out;
    }
    if (gives_up(one)) {
        // A statement that was stopped may have taken the lock just before.
        if (how.is == verdict::cut_off) {
            tell(one, {.is = claim_is::busy}, out);
            over(id, now, out);
        } else {
            leave(one, out);
        }
        return out;
    }
    switch (how.is) {
        case verdict::again:
            take(one, now, out);
            break;
        case verdict::not_free:
            if (one.queue) {
                take(one, now, out);
            } else {
                one.is = phase::looking;
                give_back(one);
                out.push_back(statement(action_kind::look, one));
            }
            break;
        default:
            pause(one, how.why, now, out);
    }
    return out;
}

bound_table::actions bound_table::stamped(const claim_id& id, const taken& how) {
    actions out;
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::stamping) return out;
    entry& one = found->second;
    if (how.is == verdict::yes && !gives_up(one)) {
        // The connection must have outlived the making of the token: else somebody may have got the lock, and a smaller
        // one, in between.
        one.counter = how.counter;
        one.is = phase::confirming;
        out.push_back(statement(action_kind::confirm, one));
        return out;
    }
    if (how.is != verdict::yes) tell(one, how.why, out);
    leave(one, out);
    return out;
}

bound_table::actions bound_table::confirmed(const claim_id& id, bool same_session, spi::time_point sent,
                                            spi::time_point now) {
    actions out;
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::confirming) return out;
    entry& one = found->second;
    if (gives_up(one)) {
        leave(one, out);
    } else if (!same_session) {
        take(one, now, out);
    } else {
        one.counted_from = sent;
        grant(one, now, out);
    }
    return out;
}

// How long the server keeps the connection is counted from when the statement was sent: the grant may have come long after, or its
// answer. If that is long ago, the connection is asked once more.
void bound_table::grant(entry& one, spi::time_point now, actions& out) {
    if (now - one.counted_from > one.lease / 2) {
        one.is = phase::confirming;
        out.push_back(statement(action_kind::confirm, one));
        return;
    }
    one.is = phase::held;
    tell(one, granted_as(one), out);
}

bound_table::actions bound_table::looked(const claim_id& id, std::optional<bool> somebody, const spi::standing& who,
                                         spi::time_point now) {
    actions out;
    if (unknown_.erase(id) > 0) {
        const auto answer = !somebody   ? spi::release_answer::unknown
                            : *somebody ? spi::release_answer::taken_over
                                        : spi::release_answer::expired;
        if (somebody) ended_.add(base::ended_claim::at(now, id, answer), now);
        out.push_back({.what = action_kind::released, .id = id, .released_as = answer});
        return out;
    }
    const auto found = claims_.find(id);
    if (found == claims_.end()) return out;
    entry& one = found->second;
    one.looks = false;
    if (one.is == phase::looking) {
        tell(one, {.is = claim_is::busy, .standing = who}, out);
        over(id, now, out);
    } else if (one.is == phase::taking && !somebody) {
        one.since = now;  // nobody has said that it is queued, so it looks again
    } else if (one.is == phase::taking) {
        one.told = true;
        tell(one, {.is = claim_is::queued, .standing = who}, out);
    }
    return out;
}

// ---- releases

bound_table::actions bound_table::release(std::string_view name, const claim_id& id, spi::time_point now) {
    actions out;
    const auto found = claims_.find(id);
    if (found == claims_.end()) {
        const auto* const known = ended_.find(id, now);
        if (known != nullptr && known->answer != base::ended_claim::not_asked) {
            out.push_back({.what = action_kind::released,
                           .id = id,
                           .released_as = static_cast<spi::release_answer>(known->answer)});
            return out;
        }
        ended_.add(base::ended_claim::at(now, id, {}), now);
        if (unknown_.insert(id).second) out.push_back({.what = action_kind::look, .id = id, .name = std::string(name)});
        return out;
    }
    entry& one = found->second;
    one.released = true;
    switch (one.is) {
        case phase::taking:
            out.push_back(statement(action_kind::stop, one));
            break;
        case phase::held:
            leave(one, out);
            break;
        case phase::pausing:
        case phase::looking:
            tell(one, {.is = claim_is::busy}, out);
            over(id, now, out);
            break;
        default:
            break;  // once the statement under way is answered
    }
    return out;
}

void bound_table::leave(entry& one, actions& out) {
    one.is = phase::leaving;
    out.push_back(statement(action_kind::free, one));
}

bound_table::actions bound_table::freed(const claim_id& id, spi::time_point now) {
    actions out;
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::leaving) return out;
    tell(found->second, {.is = claim_is::busy}, out);
    over(id, now, out);
    return out;
}

// The connection is free again, or gone, and so is the lock.
void bound_table::over(claim_id id, spi::time_point now, actions& out) {
    entry& one = claims_.at(id);
    give_back(one);
    const bool released = one.released && !one.expired;
    if (one.released && one.expired) {  // asked while it was on its way out: whether somebody has it by now
        ended_.add(base::ended_claim::at(now, id, {}), now);
        unknown_.insert(id);
        out.push_back(statement(action_kind::look, one));
    } else if (released || one.is == phase::held || one.is == phase::leaving)
        ended_.add(
            base::ended_claim::at(now, id, released ? std::optional{spi::release_answer::released} : std::nullopt),
            now);
    claims_.erase(id);
    if (released)
        out.push_back({.what = action_kind::released, .id = id, .released_as = spi::release_answer::released});
}

void bound_table::give_back(entry& one) {
    constexpr place nowhere = static_cast<place>(-1);
    if (one.where != nowhere) free_.push_back(std::exchange(one.where, nowhere));
}

// ---- holds

bound_table::actions bound_table::session_lost(place where, std::int64_t session, spi::time_point now) {
    actions out;
    for (auto& [id, one] : claims_) {
        if (one.where != where || one.is != phase::held || one.session != session) continue;
        out.push_back({.what = action_kind::lost, .id = id, .name = one.name});
        over(id, now, out);
        return out;  // a connection holds one
    }
    return out;
}

bound_table::actions bound_table::tick(spi::time_point now) {
    actions out;
    std::vector<claim_id> due;
    for (const auto& [id, one] : claims_) due.push_back(id);
    for (const claim_id& id : due) {
        entry& one = claims_.at(id);
        if (one.is == phase::taking && one.queue && one.asked && !one.told && !one.looks && !gives_up(one) &&
            now - one.since >= told_after) {
            one.looks = true;
            out.push_back(statement(action_kind::look, one));
        } else if (one.is == phase::pausing && now - one.since >= pause_for) {
            take(one, now, out);
        } else if (one.is == phase::held && one.counted_from + one.lease <= now) {
            one.expired = true;
            leave(one, out);
        }
    }
    return out;
}

std::optional<bound_table::hold> bound_table::held(const claim_id& id) const {
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::held) return std::nullopt;
    return hold{found->second.where, found->second.session};
}

bool bound_table::renewed(const claim_id& id, std::int64_t session, spi::duration lease, spi::time_point sent) {
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::held || found->second.session != session) return false;
    entry& one = found->second;
    const spi::duration granted = std::min(lease, longest_lease_);
    if (sent + granted > one.counted_from + one.lease) {
        one.counted_from = sent;
        one.lease = granted;
    }
    return true;
}

}  // namespace mortise::inline v0::stores::mysql
