#include "stores/postgres/advisory_table.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::postgres {
namespace {

using claim_is = spi::claim_answer::verdict;
using action_kind = advisory_table::action::kind;

// Somebody else has it: the server says which session, and that says nothing to anybody.
spi::claim_answer by_another(claim_is is) {
    return {.is = is, .standing = {.holder = holder{}}};
}

// A name for which somebody had to wait is asked for on a session that can wait, for so long.
constexpr std::chrono::seconds contended_for{1};
constexpr std::size_t most_contended = 1024;

}  // namespace

advisory_table::advisory_table(std::size_t wait_sessions, spi::duration longest_lease) : longest_lease_(longest_lease) {
    for (session one = wait_sessions; one > 0; --one) free_.push_back(one);
}

bool advisory_table::contended(const std::string& name, spi::time_point now) const {
    const auto found = contended_.find(name);
    return found != contended_.end() && now - found->second < contended_for;
}

// ---- claims

advisory_table::actions advisory_table::ask(const spi::claim_request& wanted, spi::time_point now) {
    actions out;
    if (ended_.find(wanted.id, now) != nullptr) {
        out.push_back({.what = action_kind::answer,
                       .id = wanted.id,
                       .answer_is = {.is = claim_is::refused, .reason = errc::cancelled}});
        return out;
    }
    const auto [found, is_new] = claims_.try_emplace(wanted.id);
    entry& one = found->second;
    one.asked = true;
    one.queue = wanted.queue;
    if (is_new) {
        one.id = wanted.id;
        one.name = wanted.name;
        one.lease = std::min(wanted.lease.value_or(longest_lease_), longest_lease_);
        place(one, now, out);
        return out;
    }
    switch (one.is) {
        case phase::held:
            tell(one,
                 {.is = claim_is::granted,
                  .grant = {.counter = one.counter, .lease = one.lease, .counted_from = one.counted_from}},
                 out);
            break;
        case phase::behind:
        case phase::polling:
        case phase::waiting:
            if (one.trouble) {
                tell(one, *one.trouble, out);
                give_up(one, now, out);
            } else if (one.queue) {
                tell(one, by_another(claim_is::queued), out);
            } else {
                give_up(one, now, out);
            }
            break;
        default:
            break;  // an answer is on its way
    }
    return out;
}

// Where it asks first.
void advisory_table::place(entry& one, spi::time_point now, actions& out) {
    name_state& state = names_[one.name];
    if (!state.on_main) {
        if (one.queue && !free_.empty() && contended(one.name, now)) return find_session(one, out);
        state.on_main = one.id;
        one.is = phase::trying;
        one.where = main;
        out.push_back({.what = action_kind::try_lock, .id = one.id, .name = one.name});
        return;
    }
    if (claims_.at(*state.on_main).is != phase::held) {  // soon known
        one.is = phase::behind;
        state.behind.push_back(one.id);
        return;
    }
    if (one.queue) return find_session(one, out);
    tell(one, by_another(claim_is::busy), out);
    end(one.id, {}, now, out);
}

void advisory_table::find_session(entry& one, actions& out) {
    if (!free_.empty()) {
        const session where = free_.back();
        free_.pop_back();
        return begin_wait(one, where, out);
    }
    poll_later(one, out);
    if (one.asked) tell(one, by_another(claim_is::queued), out);
}

void advisory_table::poll_later(entry& one, actions& out) {
    one.is = phase::polling;
    one.where = main;
    polling_.push_back(one.id);
    out.push_back({.what = action_kind::poll_later, .id = one.id});
}

void advisory_table::begin_wait(entry& one, session where, actions& out) {
    one.is = phase::waiting;
    one.where = where;
    one.trouble.reset();
    out.push_back({.what = action_kind::wait, .id = one.id, .name = one.name, .where = where});
    if (one.asked) tell(one, by_another(claim_is::queued), out);
}

advisory_table::actions advisory_table::poll(const claim_id& id, spi::time_point now) {
    actions out;
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::polling) return out;
    entry& one = found->second;
    std::erase(polling_, id);
    if (!free_.empty()) {
        find_session(one, out);
    } else if (names_[one.name].on_main) {
        find_session(one, out);  // that is: polls again
    } else {
        place(one, now, out);
    }
    return out;
}

advisory_table::actions advisory_table::tried(const claim_id& id, const lock_result& how, spi::time_point now) {
    actions out;
    entry& one = claims_.at(id);
    one.trouble.reset();
    if (how.is == lock_result::verdict::taken) {
        grant(one, how, now, out);
        return out;
    }
    leave_main(one, now, out);
    if (one.released || one.busy) {
        give_up(one, now, out);
    } else if (how.is == lock_result::verdict::not_free && !one.queue) {
        tell(one, by_another(claim_is::busy), out);
        end(id, {}, now, out);
    } else if (how.is == lock_result::verdict::not_free) {
        if (contended_.size() >= most_contended) contended_.clear();
        contended_[one.name] = now;
        find_session(one, out);
    } else if (one.asked) {
        tell(one, how.why, out);
        end(id, {}, now, out);
    } else {
        one.trouble = how.why;
        poll_later(one, out);
    }
    return out;
}

advisory_table::actions advisory_table::waited(const claim_id& id, const lock_result& how, spi::time_point now) {
    actions out;
    entry& one = claims_.at(id);
    if (contended_.size() >= most_contended) contended_.clear();
    contended_[one.name] = now;
    if (how.is == lock_result::verdict::taken && !one.released && !one.busy) {
        grant(one, how, now, out);
        return out;
    }
    one.is = phase::clearing;
    one.trouble.reset();
    if (how.is != lock_result::verdict::taken) one.trouble = how.why;
    if (how.is == lock_result::verdict::cut_off) return cleared(id, now);
    out.push_back({.what = action_kind::clear, .id = id, .where = one.where});
    return out;
}

advisory_table::actions advisory_table::cleared(const claim_id& id, spi::time_point now) {
    actions out;
    entry& one = claims_.at(id);
    one.is = phase::polling;  // in nobody's way
    free_session(std::exchange(one.where, main), out);
    if (one.released || one.busy)
        give_up(one, now, out);
    else
        poll_later(one, out);
    return out;
}

// It has the lock. How long the server keeps the session is known from when the statement was sent only; if that is long ago,
// the session is asked once more.
void advisory_table::grant(entry& one, const lock_result& how, spi::time_point now, actions& out) {
    one.pid = how.pid;
    one.counter = how.counter;
    one.counted_from = how.sent;
    if (one.released || one.busy) {
        one.is = phase::leaving;
        out.push_back(
            {.what = action_kind::unlock, .id = one.id, .name = one.name, .where = one.where, .pid = one.pid});
        return;
    }
    if (now - how.sent > one.lease / 2) {
        one.is = phase::confirming;
        out.push_back({.what = action_kind::confirm, .id = one.id, .where = one.where, .pid = one.pid});
        return;
    }
    one.is = phase::held;
    tell(one,
         {.is = claim_is::granted,
          .grant = {.counter = one.counter, .lease = one.lease, .counted_from = one.counted_from}},
         out);
    if (one.where != main) return;
    // Those behind it wait elsewhere, or not at all.
    for (const claim_id& next : std::exchange(names_[one.name].behind, {})) place(claims_.at(next), now, out);
}

advisory_table::actions advisory_table::confirmed(const claim_id& id, bool same_session, spi::time_point sent,
                                                  spi::time_point now) {
    actions out;
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::confirming) return out;
    entry& one = found->second;
    if (same_session) {
        grant(one, {.is = lock_result::verdict::taken, .counter = one.counter, .pid = one.pid, .sent = sent}, now, out);
        return out;
    }
    if (one.where == main) {
        leave_main(one, now, out);
        if (one.released || one.busy)
            give_up(one, now, out);
        else
            poll_later(one, out);
        return out;
    }
    one.is = phase::clearing;
    return cleared(id, now);
}

// ---- releases

advisory_table::actions advisory_table::release(std::string_view name, const claim_id& id, spi::time_point now) {
    actions out;
    const auto found = claims_.find(id);
    if (found == claims_.end()) {
        auto* const known = ended_.find(id, now);
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
        case phase::behind:
        case phase::polling:
        case phase::waiting:
            give_up(one, now, out);
            break;
        case phase::held:
            one.is = phase::leaving;
            out.push_back(
                {.what = action_kind::unlock, .id = id, .name = one.name, .where = one.where, .pid = one.pid});
            break;
        default:
            break;  // once the statement under way is answered
    }
    return out;
}

// Released, or not to wait any longer.
void advisory_table::give_up(entry& one, spi::time_point now, actions& out) {
    if (!one.released) one.busy = true;
    if (one.is == phase::waiting) {
        out.push_back({.what = action_kind::cancel, .id = one.id, .where = one.where});
        return;
    }
    if (one.is == phase::behind) std::erase(names_[one.name].behind, one.id);
    std::erase(polling_, one.id);
    if (one.asked)
        tell(one,
             one.released ? spi::claim_answer{.is = claim_is::refused, .reason = errc::cancelled}
                          : by_another(claim_is::busy),
             out);
    end(one.id, one.released ? std::optional{spi::release_answer::released} : std::nullopt, now, out);
}

advisory_table::actions advisory_table::unlocked(const claim_id& id, std::optional<bool> was_locked,
                                                 spi::time_point now) {
    actions out;
    entry& one = claims_.at(id);
    if (one.where == main)
        leave_main(one, now, out);
    else
        free_session(one.where, out);
    if (one.busy && one.asked) tell(one, by_another(claim_is::busy), out);
    const bool released = one.released;
    // Released while its lease had it unlocked: whether somebody has the lock by now decides.
    if ((was_locked.value_or(false) && !one.expired) || !released) {
        end(id, released ? std::optional{spi::release_answer::released} : std::nullopt, now, out);
        return out;
    }
    if (unknown_.insert(id).second) out.push_back({.what = action_kind::look, .id = id, .name = one.name});
    claims_.erase(id);
    ended_.add(base::ended_claim::at(now, id, {}), now);
    return out;
}

advisory_table::actions advisory_table::looked(const claim_id& id, std::optional<bool> somebody, spi::time_point now) {
    actions out;
    unknown_.erase(id);
    const auto answer = !somebody   ? spi::release_answer::unknown
                        : *somebody ? spi::release_answer::taken_over
                                    : spi::release_answer::expired;
    if (somebody) ended_.add(base::ended_claim::at(now, id, answer), now);
    out.push_back({.what = action_kind::released, .id = id, .released_as = answer});
    return out;
}

// ---- what it is on

void advisory_table::leave_main(const entry& one, spi::time_point now, actions& out) {
    const auto found = names_.find(one.name);
    found->second.on_main.reset();
    const std::vector<claim_id> next = std::exchange(found->second.behind, {});
    if (next.empty()) names_.erase(found);
    for (const claim_id& id : next) place(claims_.at(id), now, out);
}

// For the claim that has polled for longest.
void advisory_table::free_session(session which, actions& out) {
    if (polling_.empty()) {
        free_.push_back(which);
        return;
    }
    entry& next = claims_.at(polling_.front());
    polling_.pop_front();
    begin_wait(next, which, out);
}

void advisory_table::end(claim_id id, std::optional<spi::release_answer> answer, spi::time_point now, actions& out) {
    const auto at = claims_.find(id);
    const entry& one = at->second;
    if (const auto found = names_.find(one.name);
        found != names_.end() && !found->second.on_main && found->second.behind.empty())
        names_.erase(found);
    const bool remembered = one.released || one.is == phase::held || one.is == phase::leaving;
    claims_.erase(at);
    if (remembered) ended_.add(base::ended_claim::at(now, id, answer), now);
    if (answer) out.push_back({.what = action_kind::released, .id = id, .released_as = *answer});
}

void advisory_table::tell(entry& one, spi::claim_answer answer, actions& out) {
    const bool granted = answer.is == claim_is::granted;
    const action_kind what = granted && !one.asked ? action_kind::granted : action_kind::answer;
    one.asked = false;
    out.push_back({.what = what,
                   .id = one.id,
                   .name = what == action_kind::granted ? one.name : std::string{},
                   .answer_is = std::move(answer)});
}

// ---- holds

advisory_table::actions advisory_table::session_lost(session which, spi::time_point now) {
    actions out;
    std::vector<claim_id> gone;
    for (const auto& [id, one] : claims_)
        if (one.is == phase::held && one.where == which) gone.push_back(id);
    for (const claim_id& id : gone) {
        entry& one = claims_.at(id);
        out.push_back({.what = action_kind::lost, .id = id, .name = one.name});
        one.is = phase::leaving;
        if (which == main)
            leave_main(one, now, out);
        else
            free_session(which, out);
        end(id, {}, now, out);
    }
    return out;
}

std::optional<advisory_table::hold> advisory_table::held(const claim_id& id) const {
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::held) return std::nullopt;
    return hold{found->second.where, found->second.pid};
}

bool advisory_table::renewed(const claim_id& id, std::int64_t pid, spi::duration lease, spi::time_point sent) {
    const auto found = claims_.find(id);
    if (found == claims_.end() || found->second.is != phase::held || found->second.pid != pid) return false;
    entry& one = found->second;
    if (sent + std::min(lease, longest_lease_) > one.counted_from + one.lease) {
        one.counted_from = sent;
        one.lease = std::min(lease, longest_lease_);
    }
    return true;
}

advisory_table::actions advisory_table::expire(spi::time_point now) {
    actions out;
    for (auto& [id, one] : claims_) {
        if (one.is != phase::held || one.counted_from + one.lease > now) continue;
        one.is = phase::leaving;
        one.expired = true;
        out.push_back({.what = action_kind::unlock, .id = id, .name = one.name, .where = one.where, .pid = one.pid});
    }
    return out;
}

std::optional<spi::time_point> advisory_table::next_expiry() const {
    std::optional<spi::time_point> first;
    for (const auto& [id, one] : claims_)
        if (one.is == phase::held && (!first || one.counted_from + one.lease < *first))
            first = one.counted_from + one.lease;
    return first;
}

}  // namespace mortise::inline v0::stores::postgres
