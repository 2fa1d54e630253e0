#include "core/claim_table.hpp"

#include "base/grant_words.hpp"
#include "core/request_pace.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

namespace mortise::inline v0::core {
namespace {

// What a store that can be reached does not leave a request without.
constexpr spi::duration silence = std::chrono::milliseconds{100};

// Of each shard, so many may join what is due: then renewals are few requests. Without a limit those of very many holds would all
// come together, at each third of the lease, and whoever else asks would wait behind them for seconds.
constexpr std::size_t most_joining = 64;

// What somebody still holds, and nobody else is about to replace.
std::error_code not_replaceable(const claimant& call) {
    if (call.is.load() != claimant::phase::holding) return errc::not_owner;
    if (call.cohort->is != cohort::state::held) return errc::lost;
    const auto by = call.cohort->replaced_by.lock();
    if (!by) return {};
    return by->is == cohort::state::unsettled ? errc::unreachable : errc::would_deadlock;
}

// Whether a hold of the old terms is safe for as long as the store has one of the two claims.
bool covers(const claim_terms& now, const claim_terms& old) {
    return now.weight >= old.weight && (!now.lease || (old.lease && *now.lease >= *old.lease));
}

void replace(const std::shared_ptr<cohort>& old, const std::shared_ptr<cohort>& by) {
    by->instead_of = old;
    old->replaced_by = by;
    old->want();
    if (!covers(by->terms, old->terms)) old->doubt();
}

// It was in the store's line, or an earlier request may still put it there.
bool may_be_there(const cohort& c) {
    return c.is == cohort::state::queued || c.asked->unanswered > 0;
}

bool may_pass_on(const cohort& c, unsigned most_turns, spi::time_point now) {
    if (!c.shareable || c.line.empty() || c.latest_turn() + 1u >= most_turns) return false;
    if (!c.replaced_by.expired()) return false;  // the store may have ended it already
    if (c.lease.now_is() != lease::state::held) return false;
    return c.lease.deadline() - now >= c.lease.span() / 2;
}

std::string silence_of(const cohort& c) {
    return c.asked->trouble.empty() ? "the store did not answer; is it running, and is the address right?"
                                    : "the store did not answer: " + c.asked->trouble;
}

void refuse_line(const claim_policy& policy, cohort& c, std::error_code why, const std::string& what, actions& todo) {
    for (const auto& call : c.line) {
        call->is = claimant::phase::over;
        todo.refused.emplace_back(call, policy.refuse(why, c.terms.name, what));
    }
    c.line.clear();
}

// It holds.
void let_in(std::shared_ptr<claimant>&& call, const std::shared_ptr<cohort>& c, spi::time_point now, actions& todo) {
    todo.granted = std::move(call);
    claimant& next = *todo.granted;
    next.cohort = c;
    next.turn = c->latest_turn();
    todo.granted_after = now - next.since.exchange(now);
    next.is = claimant::phase::holding;
    c->holder = todo.granted;
    if (c->word) c->word->since.store(now.time_since_epoch().count(), std::memory_order_relaxed);
}

// The first in line holds.
void pass_on(const std::shared_ptr<cohort>& c, spi::time_point now, actions& todo) {
    auto first = std::move(c->line.front());
    c->line.pop_front();
    let_in(std::move(first), c, now, todo);
}

// Counted as sent. With the mutex held.
spi::claim_request request_of(cohort& c, bool keeps_idle, spi::time_point sent) {
    c.in_flight.store(true, std::memory_order_relaxed);
    c.asked->overlapping = c.asked->unanswered > 0;
    ++c.asked->unanswered;
    c.asked->failing_since = std::min(c.asked->failing_since, sent);
    return {.name = c.terms.name,
            .id = c.id,
            .capacity = c.terms.capacity,
            .weight = c.terms.weight,
            .lease = c.terms.lease,
            .renew = c.terms.renewed ? renew::on : renew::off,
            .kept_by = c.terms.detached ? kept_by::lease : kept_by::process,
            .queue = c.would_queue(),
            .order = c.terms.fifo ? order::fifo : order::any,
            .label = *c.terms.label,
            .instead_of = c.instead_of ? c.instead_of->id : claim_id{},
            .gives_way = std::exchange(c.gives_way, false),
            .replicas = c.terms.replicas,
            .wait_slot = c.line.empty() ? 0 : c.line.front()->waiting->wait_slot,
            .keeps = c.shareable && !c.line.empty() && c.line.front()->waiting->owner != 0,
            .keeps_idle = keeps_idle};
}

// Who is in the way, as far as it is known here: this process, or whoever the store named.
refusal in_the_way(const cohort& c, const claim_policy& policy, const claim_table::process_identity& here, errc why,
                   std::optional<std::size_t> ahead, spi::time_point now) {
    refusal no = policy.refuse(why, c.terms.name);
    if (c.is == cohort::state::held) {
        if (ahead) no.place = *ahead + 1;
        if (const auto& holder = c.holder)
            no.holder = mortise::holder{.host = here.host,
                                        .pid = here.pid,
                                        .label = *c.terms.label,
                                        .held_for = now - holder->since.load(),
                                        .token = c.token()};
    } else if (c.asked && c.asked->standing) {
        no.holder = c.asked->standing->holder;
        if (no.holder && no.holder->held_for) *no.holder->held_for += now - c.asked->heard;
        const auto& place = c.asked->standing->place;  // none: it does not tell, or has no queue but ours
        if (ahead && (place || *ahead > 0 || policy.queues())) no.place = place.value_or(1) + *ahead;
    }
    return no;
}

}  // namespace

claim_table::claim_table(const claim_policy& policy, process_identity here, event_sink& events, schedule& when,
                         release_log& releases)
    : policy_(policy), here_(std::move(here)), events_(events), releases_(releases) {
    for (shard& s : shards_) s.when = &when;
}

void claim_table::shard::insert(const std::shared_ptr<cohort>& c) {
    if (c->shareable) {
        joinable.insert(c);
    } else {
        solo.insert(c);
    }
}

std::shared_ptr<cohort> claim_table::shard::erase(const cohort& c) {
    if (c.shareable) return std::move(joinable.extract(joinable.find(name_key(c.terms))).value());
    return std::move(solo.extract(solo.find(c.id)).value());
}

std::shared_ptr<cohort> claim_table::shard::find(const name_key& name, const claim_id& id) const {
    if (const auto it = joinable.find(name); it != joinable.end() && (*it)->id == id) return *it;
    const auto it = solo.find(id);
    return it == solo.end() ? nullptr : *it;
}

// Of one that has not ended.
const std::shared_ptr<cohort>& claim_table::shard::shared(const cohort& c) const {
    return c.shareable ? *joinable.find(name_key(c.terms)) : *solo.find(c.id);
}

void claim_table::shard::look_at(cohort& c, spi::time_point due) {
    if (due == spi::time_point::max()) return looks.erase(c);
    looks.set(c, due);
    if (looks.next() == due) when->look_by(due);
}

// The cohort in whose line the call stands now: the one it joined, or the one that took over the line.
const std::shared_ptr<cohort>& claim_table::shard::of(const claimant& call) const {
    if (call.cohort->is != cohort::state::ended) return call.cohort;
    return *joinable.find(name_key(call.cohort->terms));
}

std::vector<std::shared_ptr<cohort>> claim_table::shard::all() const {
    std::vector<std::shared_ptr<cohort>> both(joinable.begin(), joinable.end());
    both.insert(both.end(), solo.begin(), solo.end());
    return both;
}

std::error_code claim_table::join(std::shared_ptr<claimant>&& call, std::shared_ptr<const claim_terms>&& terms,
                                  std::shared_ptr<hold_keeper> keeper, const claimant* instead_of, spi::time_point now,
                                  actions& todo) {
    claimant::wait& w = *call->waiting;
    bool shareable = terms->shareable && instead_of == nullptr;
    shard& s = shard_of(terms->name_hash);
    std::scoped_lock guard{s.mutex};
    std::error_code too_late;
    if (closed_.load()) {
        too_late = errc::closed;
    } else if (w.stopped) {
        too_late = errc::cancelled;
    } else if (instead_of != nullptr) {
        too_late = not_replaceable(*instead_of);
    }
    if (too_late) {
        call->is = claimant::phase::over;
        return too_late;
    }
    todo.now = now;
    auto found = s.joinable.find(name_key(*terms));
    if (found != s.joinable.end() && (*found)->is == cohort::state::held && (*found)->word) {
        const bool alike = shareable && (*found)->terms.interchangeable(*terms);
        if (alike && take_kept(*found, call, now, todo)) return {};
        if (!alike) give_up_kept(*found, todo);
        if (shareable) found = s.joinable.find(name_key(*terms));
    }
    if (shareable) {
        if (found == s.joinable.end()) {
            // It is the first of its name.
        } else if (!(*found)->terms.interchangeable(*terms)) {
            shareable = false;  // other options: on its own
        } else if (w.no_wait) {
            call->cohort = *found;
            call->is = claimant::phase::over;
            todo.refused.emplace_back(std::move(call),
                                      in_the_way(**found, policy_, here_, errc::busy, (*found)->line.size(), now));
            return {};
        } else {
            call->cohort = *found;
            w.place = (*found)->line.insert((*found)->line.end(), std::move(call));
            events_.emit(event_kind::waited, (*found)->terms.name);
            return {};
        }
    }
    auto c = base::make_spared<core::cohort>(std::move(keeper), std::move(terms), shareable);
    if (instead_of != nullptr) replace(instead_of->cohort, c);
    call->cohort = c;
    w.place = c->line.insert(c->line.end(), std::move(call));
    s.insert(c);
    todo.request = request_of(*c, s.contested.would_keep(*c, now), now);
    c->calling.store(true, std::memory_order_relaxed);  // or as good as
    todo.ask = std::move(c);
    return {};
}

actions claim_table::leave(const std::shared_ptr<claimant>& call, std::size_t name_hash, errc why,
                           const std::string& what, spi::time_point now) {
    actions todo;
    shard& s = shard_of(name_hash);
    std::scoped_lock guard{s.mutex};
    if (call->is.load() != claimant::phase::waiting) return todo;
    if (!call->cohort) {  // not in line yet: join() will see the mark
        call->waiting->stopped = true;
        return todo;
    }
    const std::shared_ptr<core::cohort> c = s.of(*call);
    if (call->waiting->leaves_for != errc{}) return todo;
    std::optional<std::size_t> ahead = 0;  // not counted in a crowd that leaves all at once
    for (auto at = c->line.begin(); ahead && at != call->waiting->place; ++at)
        ahead = *ahead < 1000 ? std::optional{*ahead + 1} : std::nullopt;
    // A silent store is told apart from one that is slower than a short wait, from a thread of ours that has not got
    // round to asking it, and from a timer of ours that is late.
    const spi::time_point waited_until = std::min(now, call->waiting->deadline);
    const bool unheard = why == errc::timed_out && c->asked && !c->asked->standing && !c->calling &&
                         waited_until - std::max(c->asked->failing_since, call->since.load()) >= silence;
    if (c->instead_of && !unheard) {
        // The store may have granted it just now, and ended what it replaces. It is asked, not told.
        call->waiting->leaves_for = why;
        call->waiting->leaves_because = what;
        call->waiting->no_wait = true;
        todo.ask = c;
        return todo;
    }
    refusal no = in_the_way(*c, policy_, here_, unheard ? errc::unreachable : why, ahead, now);
    const bool held_up = why == errc::timed_out && c->asked && !c->asked->trouble.empty();
    const std::string because = !what.empty() ? what
                                : unheard     ? silence_of(*c)
                                : held_up     ? c->asked->trouble
                                              : std::string{};
    if (!because.empty()) no.detail = policy_.refuse(no.reason, c->terms.name, because).detail;
    todo.refused.emplace_back(call, std::move(no));
    call->is = claimant::phase::over;
    c->line.erase(call->waiting->place);
    if (c->line.empty() && c->is != cohort::state::held) withdraw(c, true, now, todo);  // nobody wants it any more
    return todo;
}

std::optional<spi::claim_request> claim_table::request(cohort& c, spi::time_point sent) {
    shard& s = shard_of(c.terms.name_hash);
    std::scoped_lock guard{s.mutex};
    if (!c.waits()) return std::nullopt;
    return request_of(c, s.contested.would_keep(c, sent), sent);
}

void claim_table::requested(const std::shared_ptr<cohort>& c, spi::time_point due) {
    if (!c->in_flight.load(std::memory_order_acquire)) return;
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    if (c->is != cohort::state::ended && c->in_flight) shard_of(c->terms.name_hash).look_at(*c, due);
}

actions claim_table::answered(const std::shared_ptr<cohort>& c, spi::time_point sent, bool queues,
                              spi::claim_answer&& answer, spi::time_point now) {
    using verdict = spi::claim_answer::verdict;
    actions todo;
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    if (c->is == cohort::state::held) return todo;  // a repeat of what we know
    if (c->is == cohort::state::ended) {            // we had given up: it must not stay behind
        if (answer.is == verdict::granted || answer.is == verdict::queued)
            todo.release = {c, release_log::ticket(releases_)};
        return todo;
    }
    const bool old_is_gone = c->instead_of && answer.is == verdict::refused && answer.reason == errc::lost;
    if (c->is == cohort::state::unsettled) {
        if (answer.is == verdict::granted || old_is_gone) forfeit(c, now, todo);
        return todo;
    }
    if (answer.is == verdict::unknown) {
        if (!answer.detail.empty()) c->asked->trouble = std::move(answer.detail);
        const client_options& options = policy_.options();
        // There may be nobody to ask: a call that does not wait can end with that.
        const bool impatient = answer.unreached && !c->would_queue();
        no_answer(c, answer.reason ? answer.reason : make_error_code(errc::unreachable), now,
                  impatient ? options.try_patience.value_or(options.patience) : options.patience, todo);
        if (c->is != cohort::state::ended) shard_of(c->terms.name_hash).look_at(*c, now + pause_after_failure(*c));
        return todo;
    }
    c->in_flight.store(false, std::memory_order_release);
    if (c->asked->unanswered > 0) --c->asked->unanswered;
    c->asked->failures = 0;
    if (answer.is == verdict::granted) {
        c->asked->trouble.clear();
        answer.grant.counted_from = std::min(answer.grant.counted_from, sent);
        take(c, answer.grant, now, todo);
        return todo;
    }
    c->asked->trouble = answer.is == verdict::queued ? std::move(answer.detail) : std::string{};
    c->asked->failing_since = spi::time_point::max();
    const bool first = !c->asked->standing;
    c->asked->standing = std::move(answer.standing);
    c->asked->heard = now;
    c->asked->kept = answer.kept;
    if (answer.is == verdict::refused && answer.reason == errc::cancelled) {
        // The grant ended before its reply arrived: ask anew, as somebody else. What it replaced may be gone with it.
        if (c->instead_of) c->instead_of->doubt();
        if (may_be_there(*c)) todo.release = {c, release_log::ticket(releases_)};
        end(c);
        stand_anew(c, todo);
        return todo;
    }
    if (answer.is == verdict::refused) {
        refuse_line(policy_, *c, answer.reason, answer.detail, todo);
        if (old_is_gone) {
            forfeit(c, now, todo);
        } else {
            withdraw(c, may_be_there(*c), now, todo);
        }
        return todo;
    }
    shard_of(c->terms.name_hash).contested.note(c->terms, now);
    // The store has looked at what it replaces.
    if (c->instead_of && covers(c->terms, c->instead_of->terms)) c->instead_of->trust();
    if (answer.is == verdict::busy) {
        if (first && queues) events_.emit(event_kind::waited, c->terms.name);
        busy(c, queues, now, todo);
    } else {
        c->is = cohort::state::queued;
        if (first) events_.emit(event_kind::waited, c->terms.name);
        // A call that waits may have joined one that does not, while that was asked for.
        refuse_impatient(c, false, now, todo);
        if (c->line.empty()) {
            withdraw(c, true, now, todo);
        } else {
            shard_of(c->terms.name_hash).look_at(*c, now + pause_while_queued(*c, policy_.options().patience));
        }
    }
    return todo;
}

bool claim_table::granted(std::string_view name, const claim_id& id, const spi::grant& given, spi::time_point now,
                          actions& todo) {
    const name_key key{name};
    shard& s = shard_of(key.hash);
    std::scoped_lock guard{s.mutex};
    const auto c = s.find(key, id);
    if (!c) return false;
    if (c->is == cohort::state::unsettled) {
        forfeit(c, now, todo);
    } else if (c->is != cohort::state::held) {
        take(c, given, now, todo);
    }
    return true;
}

actions claim_table::lost(std::string_view name, const claim_id& id, spi::time_point now) {
    actions todo;
    const name_key key{name};
    shard& s = shard_of(key.hash);
    std::scoped_lock guard{s.mutex};
    const auto c = s.find(key, id);
    if (!c) return todo;
    if (c->is == cohort::state::held) {
        apply(c, c->lease.revoked(), errc::lost, now, todo);
    } else if (c->instead_of) {  // the answer to a repeat says what became of the hold that it is to replace
        if (c->waits()) todo.ask = c;
    } else {  // thrown out of the line: ask anew, as somebody else
        withdraw(c, may_be_there(*c), now, todo);
        stand_anew(c, todo);
    }
    return todo;
}

actions claim_table::wanted(std::string_view name, const claim_id& id, spi::time_point now) {
    actions todo;
    const name_key key{name};
    shard& s = shard_of(key.hash);
    std::scoped_lock guard{s.mutex};
    const auto c = s.find(key, id);
    if (!c) return todo;
    s.contested.note(c->terms, now);
    if (c->waits()) c->asked->contested = true;
    if (c->is == cohort::state::held && c->word_is_own && base::take_or_want(*c->word, c->id))
        todo.release = {end(c), release_log::ticket(releases_)};
    return todo;
}

void claim_table::look_after(const std::shared_ptr<cohort>& c) {
    shard& s = shard_of(c->terms.name_hash);
    std::scoped_lock guard{s.mutex};
    if (c->is == cohort::state::held) s.look_at(*c, c->next_look());
}

auto claim_table::due(spi::time_point now) -> looks {
    looks all;
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        while (const cohort* c = s.looks.take_due(now)) all.claims.push_back(s.shared(*c));
    }
    const bool any = !all.claims.empty();
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        for (std::size_t joined = 0; any && joined < most_joining; ++joined) {
            const cohort* c = s.looks.take_joining(now);
            if (c == nullptr) break;
            all.claims.push_back(s.shared(*c));
        }
        all.next = std::min(all.next, s.looks.next());
    }
    return all;
}

bool claim_table::look(const std::shared_ptr<cohort>& c, spi::time_point now, actions& todo) {
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    if (c->is == cohort::state::held) {
        if (still_kept(*c, now) || give_up_kept(c, todo)) return false;
        const bool joins = now < c->lease.due() && now >= c->lease.may_join();
        lease::step step = c->lease.poll(now);
        if (joins) step.renew = c->lease.ask_early(now);
        if (step.renew && c->word_is_own)
            c->want();  // who asks may not have been able to tell: it is given up after this hold
        apply(c, step, errc::unreachable, now, todo);
        return step.renew;
    }
    if (c->is == cohort::state::unsettled) {
        if (c->instead_of->is != cohort::state::held) {
            forfeit(c, now, todo);
        } else {
            ++c->asked->failures;
            todo.confirm = c->instead_of;
            shard_of(c->terms.name_hash).look_at(*c, now + pause_after_failure(*c));
        }
        return false;
    }
    if (!c->waits()) return false;
    // The request was not answered in time, or it is time to look again.
    if (c->in_flight) no_answer(c, errc::unreachable, now, policy_.options().patience, todo);
    if (c->waits()) todo.ask = c;
    return false;
}

bool claim_table::renew_early(const std::shared_ptr<cohort>& c, spi::time_point now) {
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    if (c->is != cohort::state::held || !c->lease.restart(now)) return false;
    shard_of(c->terms.name_hash).look_at(*c, c->next_look());
    return true;
}

actions claim_table::renewed(const std::shared_ptr<cohort>& c, spi::renewal_answer answer, spi::time_point sent,
                             spi::time_point now) {
    actions todo;
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    if (c->is != cohort::state::held) return todo;
    const spi::duration slack = c->lease.deadline() - now;
    // May be good news, still on its way.
    const auto by = c->replaced_by.lock();
    if (answer == spi::renewal_answer::lost && by && by->waits()) answer = spi::renewal_answer::unknown;
    const lease::step step = c->lease.answered(answer, sent, now);
    if (answer == spi::renewal_answer::renewed && !step.lost)
        events_.emit(event_kind::renewed, c->terms.name, c->token(), {}, slack);
    apply(c, step, answer == spi::renewal_answer::lost ? errc::lost : errc::unreachable, now, todo);
    return todo;
}

actions claim_table::confirmed(const std::shared_ptr<cohort>& c, spi::renewal_answer answer, spi::time_point sent,
                               spi::time_point now) {
    actions todo;
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    const auto by = c->replaced_by.lock();
    if (c->is != cohort::state::held || (by && by->waits())) return todo;  // it ended, or `by` will be answered
    if (answer == spi::renewal_answer::lost) {
        apply(c, c->lease.revoked(), errc::lost, now, todo);
    } else if (answer == spi::renewal_answer::renewed && by) {
        if (!by->asked->leaving) {
            by->asked->leaving = true;
            c->doubt();
            todo.release = {by, release_log::ticket(releases_), true};
        } else if (sent > by->asked->left) {
            end(by);
            c->trust();
        }
    }
    return todo;
}

void claim_table::left(const std::shared_ptr<cohort>& c, spi::time_point now) {
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    if (c->is != cohort::state::unsettled) return;
    c->asked->left = now;
    c->asked->failures = 0;
    shard_of(c->terms.name_hash).look_at(*c, now + spi::duration{1});
}

auto claim_table::doubt_all(spi::time_point now) -> doubts {
    doubts found;
    each([&](const std::shared_ptr<cohort>& c) {
        if (c->is == cohort::state::queued) found.waiting.push_back(c);
        if (c->is == cohort::state::unsettled) found.fixed.push_back(c->instead_of);
        if (c->is != cohort::state::held) return;
        if (c->word_is_own && base::take_or_want(*c->word, c->id)) {  // somebody may have asked in vain
            found.idle.push_back({end(c), release_log::ticket(releases_)});
        } else if (!c->terms.renewed) {
            found.fixed.push_back(c);
        } else if (c->lease.ask_again(now)) {
            shard_of(c->terms.name_hash).look_at(*c, c->next_look());
            found.renewing.push_back(c);
        }
    });
    return found;
}

auto claim_table::release(const std::shared_ptr<claimant>& call, spi::time_point now) -> departure {
    departure left;
    const std::shared_ptr<cohort>& c = call->cohort;  // that of a holder stays what it is
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    if (closed_.load() && call->is.exchange(claimant::phase::over) == claimant::phase::holding) call->closed = true;
    if (call->is.load() != claimant::phase::holding) {
        left.why = call->closed ? errc::closed : call->releasing ? errc::busy : errc{};
        left.result = call->result;
        left.silent = true;
        return left;
    }
    left.todo.now = now;
    call->is = claimant::phase::over;
    call->releasing = true;
    left.watched = std::move(call->watched);
    left.held_for = now - call->since.load();
    c->holder.reset();
    left.was_lost = c->is == cohort::state::ended || now >= c->lease.deadline();
    if (!left.was_lost && may_pass_on(*c, policy_.options().hand_over_turns, now) && c->next_turn(c->line.size() > 1)) {
        pass_on(c, now, left.todo);
        call->result = release_result::released;
        call->releasing = false;
        return left;
    }
    if (c->is == cohort::state::held) {
        left.todo.release = {end(c), release_log::ticket(releases_)};
        succeed(c, left.todo);
        if (left.todo.ask) left.todo.ask->gives_way = true;
    } else {
        left.todo.release = {c, release_log::ticket(releases_)};
    }
    return left;
}

actions claim_table::let_go(const std::shared_ptr<claimant>& call) {
    actions todo;
    const std::shared_ptr<cohort> c = call->cohort;
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    const bool kept = call->is.exchange(claimant::phase::over) == claimant::phase::kept;
    if (!kept || c->holder != call || c->is != cohort::state::held) return todo;  // somebody else has it
    const bool idle = base::take_if_idle(*c->word, c->id);                        // else the store has ended it
    if (idle) todo.release.ticket = release_log::ticket(releases_);
    auto ended = end(c);
    if (idle) todo.release.claim = std::move(ended);
    return todo;
}

void claim_table::forget(claimant& call) noexcept {
    const auto c = call.cohort;
    std::scoped_lock guard{mutex_of(c->terms.name_hash)};
    if (call.is.exchange(claimant::phase::over) == claimant::phase::holding && c->is == cohort::state::held) end(c);
}

actions claim_table::close(spi::time_point now, std::vector<claim_release>& releases) {
    actions todo;
    todo.now = now;
    closed_.store(true);
    each([&](const std::shared_ptr<cohort>& c) {
        const bool kept = c->terms.detached && c->is == cohort::state::held;
        refuse_line(policy_, *c, errc::closed, {}, todo);
        if (const auto& holder = c->holder) {
            holder->is = claimant::phase::over;
            holder->closed = true;
        }
        if (!kept) releases.push_back({c, release_log::ticket(releases_)});
        end(c);
    });
    return todo;
}

std::shared_ptr<claimant> claim_table::holder_of(std::string_view name, const claim_id& id) {
    const name_key key{name};
    shard& s = shard_of(key.hash);
    std::scoped_lock guard{s.mutex};
    const auto c = s.find(key, id);
    return c ? c->holder : nullptr;
}

void claim_table::each(const std::function<void(const std::shared_ptr<cohort>&)>& visit) {
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        for (const auto& c : s.all()) visit(c);
    }
}

void claim_table::take(const std::shared_ptr<cohort>& c, const spi::grant& given, spi::time_point now, actions& todo) {
    c->lease = policy_.lease_of(given, c->terms);
    c->counter = given.counter;
    if (c->lease.deadline() <= now) {  // it took so long that the lease is over: never a late yes
        if (c->instead_of) return forfeit(c, now, todo);
        no_answer(c, errc::unreachable, now, policy_.options().patience, todo);
        if (c->is == cohort::state::ended) return;
        todo.release = {c, release_log::ticket(releases_)};
        end(c);
        stand_anew(c, todo);
        if (const auto next = std::exchange(todo.ask, nullptr))
            shard_of(next->terms.name_hash).look_at(*next, now + std::chrono::milliseconds{10});
        return;
    }
    // Not if it was in line, or may have been: others may have come after it, of whom the store told nobody.
    const bool first = c->is == cohort::state::asking && c->asked->unanswered == 0 && !c->asked->contested;
    const bool keeps = given.told && first && shard_of(c->terms.name_hash).contested.would_keep(*c, now);
    c->asked.reset();
    c->in_flight.store(false, std::memory_order_release);
    c->is = cohort::state::held;
    if (c->shareable) c->word = given.word;
    if (keeps && !c->word) c->make_own_word();
    if (const auto old = std::exchange(c->instead_of, nullptr)) {
        // Its place was taken: it ends, and the store knows.
        old->replaced_by.reset();
        if (old->is == cohort::state::held) {
            if (const auto& holder = old->holder) {
                holder->is = claimant::phase::over;
                holder->result = release_result::released;
            }
            old->holder.reset();
            end(old);
            succeed(old, todo);
        }
    }
    c->valid_for_its_lease();
    pass_on(c, now, todo);
    if (!c->line.empty()) c->want();
    shard_of(c->terms.name_hash).look_at(*c, c->next_look());
}

// A grant with a word, if nobody is inside. False: the call has to wait, or to ask the store.
bool claim_table::take_kept(std::shared_ptr<cohort> c, std::shared_ptr<claimant>& call, spi::time_point now,
                            actions& todo) {
    switch (c->enter(!call->waiting->no_wait, now)) {
        case cohort::entry::taken:
            let_in(std::move(call), c, now, todo);
            return true;
        case cohort::entry::too_old:
            todo.release = {end(c), release_log::ticket(releases_)};
            return false;
        case cohort::entry::ended:  // if somebody is inside, the store will tell him
            if (c->nobody_inside()) end(c);
            return false;
        case cohort::entry::in_use:
            return false;
    }
    return false;
}

// A grant that is kept, and not wanted any more.
bool claim_table::give_up_kept(std::shared_ptr<cohort> c, actions& todo) {
    if (!c->nobody_inside()) return false;
    if (base::take_if_idle(*c->word, c->id)) {
        todo.release = {end(c), release_log::ticket(releases_)};
    } else if (c->nobody_inside()) {
        end(c);  // the store has ended it
    } else {
        return false;
    }
    return true;
}

// Nobody is inside, and it has not been so for long. It is not renewed meanwhile.
bool claim_table::still_kept(cohort& c, spi::time_point now) {
    const auto until = c.kept_until();
    if (!until || now >= *until || now >= c.lease.due()) return false;
    shard_of(c.terms.name_hash).look_at(c, c.next_look());
    return true;
}

// Those who do not wait are answered, but for an exchange that is about to be told what the store has.
void claim_table::refuse_impatient(const std::shared_ptr<cohort>& c, bool leaving_too, spi::time_point now,
                                   actions& todo) {
    std::size_t ahead = 0;
    for (auto it = c->line.begin(); it != c->line.end();) {
        const std::shared_ptr<claimant> call = *it;
        const claimant::wait& w = *call->waiting;
        if (!w.no_wait || (w.leaves_for != errc{} && !leaving_too)) {
            ++it;
            continue;
        }
        call->is = claimant::phase::over;
        refusal no = in_the_way(*c, policy_, here_, w.leaves_for != errc{} ? w.leaves_for : errc::busy, ahead++, now);
        if (!w.leaves_because.empty()) no.detail = policy_.refuse(no.reason, c->terms.name, w.leaves_because).detail;
        todo.refused.emplace_back(call, std::move(no));
        it = c->line.erase(it);
    }
}

// What is in the way may be kept idle, and is given up just now: true, and those who do not wait ask again.
bool claim_table::look_twice(const std::shared_ptr<cohort>& c, spi::time_point now, actions& todo) {
    if (!c->asked->kept || c->would_queue()) return false;
    const auto pause = c->asked->looks_again.next(now);
    if (!pause) return false;
    if (*pause == spi::duration::zero()) {
        todo.ask = c;
    } else {
        shard_of(c->terms.name_hash).look_at(*c, now + *pause);
    }
    return true;
}

// Not granted and not queued: those who do not wait are answered. For the others a store that queues is asked to do so at
// once; one that was asked to and did not is polled.
void claim_table::busy(const std::shared_ptr<cohort>& c, bool queues, spi::time_point now, actions& todo) {
    if (!queues && look_twice(c, now, todo)) return;
    refuse_impatient(c, true, now, todo);
    if (c->line.empty()) {
        withdraw(c, may_be_there(*c), now, todo);
    } else if (queues) {
        shard_of(c->terms.name_hash).look_at(*c, now + pause_while_polling(*c));
    } else {
        todo.ask = c;
    }
}

// A request failed or was not answered. It is repeated with the same id, until `patience` is over.
void claim_table::no_answer(const std::shared_ptr<cohort>& c, std::error_code why, spi::time_point now,
                            spi::duration patience, actions& todo) {
    c->in_flight.store(false, std::memory_order_release);
    ++c->asked->failures;
    if (c->asked->looks_again.begun() && !c->would_queue()) {  // it was busy a moment ago
        refuse_impatient(c, true, now, todo);
        return withdraw(c, true, now, todo);
    }
    if (now - c->asked->failing_since < patience) {
        events_.emit(event_kind::retried, c->terms.name, {}, why);
        return;
    }
    refuse_line(policy_, *c, errc::unreachable, silence_of(*c), todo);
    withdraw(c, true, now, todo);  // it may have been granted without our knowing
}

// A claim that is not wanted any more. If it is `there`, or may yet come to be, it is released, so that nothing stays behind;
// but an exchange not before it is known which of the two claims the store has.
void claim_table::withdraw(const std::shared_ptr<cohort>& c, bool there, spi::time_point now, actions& todo) {
    const auto old = c->instead_of;
    const bool unsure = c->asked->unanswered > 0 || c->asked->overlapping;
    if (old && old->is == cohort::state::held && unsure) {
        c->is = cohort::state::unsettled;
        c->in_flight.store(false, std::memory_order_release);
        todo.confirm = old;
        return shard_of(c->terms.name_hash).look_at(*c, now + pause_after_failure(*c));
    }
    if (there) todo.release = {c, release_log::ticket(releases_)};
    end(c);
    if (old) old->trust();
}

// What an exchange was to replace has ended, and nobody holds what came of it.
void claim_table::forfeit(const std::shared_ptr<cohort>& c, spi::time_point now, actions& todo) {
    const auto old = c->instead_of;
    refuse_line(policy_, *c, errc::lost, {}, todo);
    if (!c->asked->leaving) todo.release = {c, release_log::ticket(releases_)};
    end(c);
    if (old->is == cohort::state::held) apply(old, old->lease.revoked(), errc::lost, now, todo);
}

// Answers what the table had of it.
std::shared_ptr<cohort> claim_table::end(const std::shared_ptr<cohort>& c) {
    c->is = cohort::state::ended;
    c->holder.reset();  // its handle has it
    c->invalid();
    if (c->word) {
        c->turn = c->latest_turn();
        base::end_word(*c->word, c->id);
    }
    shard_of(c->terms.name_hash).look_at(*c, spi::time_point::max());
    auto ended = shard_of(c->terms.name_hash).erase(*c);
    if (c->instead_of && c->instead_of->replaced_by.lock() == c) c->instead_of->replaced_by.reset();
    if (const auto by = c->replaced_by.lock(); by && by->is == cohort::state::unsettled)
        shard_of(by->terms.name_hash).look_at(*by, spi::time_point{});  // now
    return ended;
}

// Whoever is still in line goes on with a new claim.
void claim_table::succeed(const std::shared_ptr<cohort>& c, actions& todo) {
    if (c->line.empty()) return;
    auto next = base::make_spared<core::cohort>(c->keeper, c->agreed, c->shareable);
    next->line.swap(c->line);
    if (!c->shareable) next->line.front()->cohort = next;
    if (c->instead_of) replace(c->instead_of, next);
    if (c->asked) {
        next->asked->failing_since = c->asked->failing_since;
    } else {
        next->asked->standing.emplace();  // it held, so the store was heard of: a timeout is a timeout
    }
    shard_of(next->terms.name_hash).insert(next);
    todo.ask = std::move(next);
}

// The store has it no more, though it was wanted: nothing was heard from here when its turn came, or for too long.
void claim_table::stand_anew(const std::shared_ptr<cohort>& c, actions& todo) {
    if (!c->line.empty()) events_.emit(event_kind::retried, c->terms.name, {}, errc::lost);
    succeed(c, todo);
}

// What follows from a step of its lease. If it is lost, its owner is told; those in line go on without it.
void claim_table::apply(const std::shared_ptr<cohort>& c, lease::step step, std::error_code why, spi::time_point now,
                        actions& todo) {
    if (step.lost && c->nobody_inside() && give_up_kept(c, todo)) return succeed(c, todo);
    if (step.lost) {
        todo.lost = std::move(c->holder);
        end(c);
        events_.emit(event_kind::lost, c->terms.name, c->token(), why);  // whoever hears it finds valid() false
        return succeed(c, todo);
    }
    if (step.at_risk) c->want();  // not to be kept for longer than this hold
    if (step.at_risk) events_.emit(event_kind::at_risk, c->terms.name, c->token(), why, c->lease.deadline() - now);
    if (!c->doubted) c->valid_for_its_lease();
    shard_of(c->terms.name_hash).look_at(*c, c->next_look());
}

}  // namespace mortise::inline v0::core
