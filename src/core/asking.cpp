// How the store is asked, and what follows from its answers. See engine.hpp for the picture.
#include "core/engine.hpp"
#include "core/farewell.hpp"
#include "core/watchdog.hpp"

#include <algorithm>

namespace mortise::inline v0::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How often a claim in the store's line looks again, in case a push got lost and nobody's lease sets the pace.
constexpr spi::duration idle_look = seconds{10};

// How often a claim asks a store that answers `busy` instead of queueing it: rarely more than five times a second.
constexpr spi::duration first_poll = milliseconds{25};
constexpr spi::duration longest_poll = milliseconds{200};

// How many polls go by before a lease's announced end shortens a pause again: a holder that renews announces ever new ends.
constexpr unsigned polls_between_shortcuts = 16;

// How long before the end of a wait it looks for the last time.
constexpr spi::duration last_words = milliseconds{100};

// 0 to 1, different for every claim: so that a crowd does not come back in step.
double spread(const claim_id& id, unsigned salt) noexcept {
    const auto mixed = (id.bits[0] + salt * 0x9e3779b97f4a7c15u) >> 11;
    return static_cast<double>(mixed) / static_cast<double>(std::uint64_t{1} << 53);
}

spi::duration part(spi::duration whole, double share) {
    return std::chrono::duration_cast<spi::duration>(whole * share);
}

}  // namespace

void engine::ask(const std::shared_ptr<cohort>& c, spi::time_point sent) {
    shard& s = shard_of(*c);
    spi::claim_request wanted;
    {
        std::scoped_lock guard{s.mutex};
        if (c->is != cohort::state::asking && c->is != cohort::state::queued) return;
        c->in_flight.store(true, std::memory_order_relaxed);
        ++c->asked->unanswered;
        c->asked->failing_since = std::min(c->asked->failing_since, sent);
        wanted = {.name = c->terms.name,
                  .id = c->id,
                  .capacity = c->terms.capacity,
                  .weight = c->terms.weight,
                  .lease = c->terms.lease,
                  .renew = c->terms.renewed ? renew::on : renew::off,
                  .kept_by = c->terms.detached ? kept_by::lease : kept_by::process,
                  .queue = std::any_of(c->line.begin(), c->line.end(),
                                       [](const auto& who) { return !who->waiting->no_wait; }),
                  .order = c->terms.order,
                  .label = *c->terms.label,
                  .instead_of = c->instead_of ? c->instead_of->id : claim_id{},
                  .replicas = c->terms.replicas,
                  .wait_slot = c->line.empty() ? 0 : c->line.front()->waiting->wait_slot};
    }
    c->calling.store(true, std::memory_order_relaxed);
    store_->claim(wanted, [c, sent, queues = wanted.queue](spi::claim_answer said) {
        c->home->answered(c, sent, queues, std::move(said));
    });
    c->calling.store(false, std::memory_order_release);

    if (!c->in_flight.load(std::memory_order_acquire)) return;
    std::scoped_lock guard{s.mutex};
    if (c->is != cohort::state::ended && c->in_flight) watch(c, sent + options_.reply_timeout);
}

// A waiting claim's request was not answered in time, or it is time to look again.
void engine::ask_again(const std::shared_ptr<cohort>& c) {
    errands todo;
    {
        std::scoped_lock guard{shard_of(*c).mutex};
        if (c->is != cohort::state::asking && c->is != cohort::state::queued) return;
        if (c->in_flight) {
            no_answer(c, errc::unreachable, clock_->now(), todo);
            if (c->is != cohort::state::ended) todo.ask = c;
        } else {
            todo.ask = c;
        }
    }
    run(todo);
}

void engine::answered(const std::shared_ptr<cohort>& c, spi::time_point sent, bool queues, spi::claim_answer&& said) {
    using verdict = spi::claim_answer::verdict;
    errands todo;
    {
        std::scoped_lock guard{shard_of(*c).mutex};
        const spi::time_point now = clock_->now();
        if (c->is == cohort::state::held) return;  // a repeat of what we know
        if (c->is == cohort::state::ended) {       // we had given up: it must not stay behind
            if (said.is == verdict::granted || said.is == verdict::queued) todo.goodbye = goodbye(*c, now);
        } else if (said.is == verdict::unknown) {
            if (!said.detail.empty()) c->asked->trouble = std::move(said.detail);
            no_answer(c, said.reason ? said.reason : make_error_code(errc::unreachable), now,
                      said.unreached ? patience_with_nobody_there(*c) : options_.patience, todo);
            if (c->is != cohort::state::ended) {
                const unsigned tries = c->asked->failures;
                const auto step = milliseconds{10} * (1 << std::min(tries, 7u));
                watch(c, now + step + part(step, spread(c->id, tries)));
            }
        } else {
            c->in_flight.store(false, std::memory_order_release);
            if (c->asked->unanswered > 0) --c->asked->unanswered;
            c->asked->failures = 0;
            c->asked->trouble = said.is == verdict::queued ? std::move(said.detail) : std::string{};
            if (said.is == verdict::granted) {
                said.grant.counted_from = std::min(said.grant.counted_from, sent);
                take(c, said.grant, now, todo);
            } else {
                c->asked->failing_since = spi::time_point::max();
                const bool first = !c->asked->standing;
                c->asked->standing = std::move(said.standing);
                c->asked->heard = now;
                if (said.is == verdict::refused && said.reason == errc::cancelled) {
                    forget(c, now, todo);  // the grant ended before its reply arrived: ask anew, as somebody else
                    succeed(c, todo);
                } else if (said.is == verdict::refused) {
                    refuse_line(*c, said.reason, said.detail, todo);
                    forget(c, now, todo);
                } else if (said.is == verdict::busy) {
                    if (first && queues) emit(event_kind::waited, c->terms.name);
                    busy(c, queues, now, todo);
                } else {
                    c->is = cohort::state::queued;
                    if (first) emit(event_kind::waited, c->terms.name);
                    watch(c, now + pause_before_next_look(*c));
                }
            }
        }
    }
    run(todo);
}

// A push. It counts only for a claim that is waiting for it; a grant nobody waits for is given back.
void engine::granted(std::string_view name, const claim_id& id, const spi::grant& given) {
    if (forked()) return;
    errands todo;
    {
        const name_key key{name};
        shard& s = shard_of(key);
        std::scoped_lock guard{s.mutex};
        const auto c = s.find(key, id);
        if (!c) {
            todo.goodbye = std::make_shared<farewell>(shared_from_this(), std::string(name), id,
                                                      release_until(given.lease, clock_->now()));
        } else if (c->is != cohort::state::held) {
            take(c, given, clock_->now(), todo);
        }
    }
    run(todo);
}

void engine::lost(std::string_view name, const claim_id& id) {
    if (forked()) return;
    errands todo;
    {
        const name_key key{name};
        shard& s = shard_of(key);
        std::scoped_lock guard{s.mutex};
        const auto c = s.find(key, id);
        if (!c) return;
        if (c->is == cohort::state::held) {
            apply(c, c->lease.revoked(), errc::lost, todo);
        } else {  // thrown out of the line: ask anew, as somebody else
            forget(c, clock_->now(), todo);
            succeed(c, todo);
        }
    }
    run(todo);
}

void engine::take(const std::shared_ptr<cohort>& c, spi::grant given, spi::time_point now, errands& todo) {
    const lease::terms agreed{.life = given.lease,
                              .renewed = c->terms.renewed,
                              .margin = margin_of(given.grace.value_or(given.lease.value_or(spi::duration::zero()))),
                              .grace = given.grace};
    c->lease = core::lease(agreed, given.counted_from);
    c->counter = given.counter;
    if (c->lease.deadline() <= now) {  // it took so long that the lease is over: never a late yes
        no_answer(c, errc::unreachable, now, todo);
        if (c->is == cohort::state::ended) return;
        todo.goodbye = goodbye(*c, now);
        end(c);
        succeed(c, todo);
        if (const auto next = std::exchange(todo.ask, nullptr)) watch(next, now + milliseconds{10});
        return;
    }
    c->asked.reset();
    c->in_flight.store(false, std::memory_order_release);
    c->is = cohort::state::held;
    if (c->instead_of) replace(std::exchange(c->instead_of, nullptr), todo);
    c->valid_until.store(c->lease.deadline(), std::memory_order_release);
    pass_on(c, now, todo);
    watch(c, c->lease.due());
}

// Not granted and not queued: those who do not wait are answered. For the others a store that queues is asked to do so at
// once; one that was asked to and did not is polled.
void engine::busy(const std::shared_ptr<cohort>& c, bool queues, spi::time_point now, errands& todo) {
    std::size_t place = 0;
    for (auto it = c->line.begin(); it != c->line.end();) {
        const std::shared_ptr<claimant> who = *it;
        if (!who->waiting->no_wait) {
            ++it;
            continue;
        }
        who->is = claimant::phase::over;
        const claimant::wait& w = *who->waiting;
        refusal no = in_the_way(*c, w.leaves_for != errc{} ? w.leaves_for : errc::busy, place++);
        if (!w.leaves_because.empty()) no.detail = refuse(no.reason, c->terms.name, w.leaves_because).detail;
        todo.refused.emplace_back(who, std::move(no));
        it = c->line.erase(it);
    }
    if (c->line.empty()) {
        forget(c, now, todo);
    } else if (queues) {
        watch(c, now + pause_before_next_poll(*c));
    } else {
        todo.ask = c;
    }
}

// Grows to its longest, a little shorter by chance. Sooner if a lease ends before that, but not time and again.
spi::duration engine::pause_before_next_poll(cohort& c) const {
    const unsigned polls = c.asked->polls++;
    const spi::duration step = std::min<spi::duration>(first_poll * (1 << std::min(polls, 10u)), longest_poll);
    const spi::duration usual = step - part(step / 5, spread(c.id, polls));
    const auto free_in = c.asked->standing->free_in;
    if (!free_in || *free_in >= usual || polls < c.asked->next_shortcut) return usual;
    c.asked->next_shortcut = polls + polls_between_shortcuts;
    return std::max(*free_in, spi::duration{milliseconds{1}});
}

// A claim that is not wanted any more and that the store does not have, as far as its last answer goes. It had it in its
// line, or an earlier request may still put it there: then it is released, so that nothing stays behind.
void engine::forget(const std::shared_ptr<cohort>& c, spi::time_point now, errands& todo) {
    if (c->is == cohort::state::queued || c->asked->unanswered > 0) todo.goodbye = goodbye(*c, now);
    end(c);
}

// A request failed or was not answered. It is repeated with the same id, until `patience` is over.
void engine::no_answer(const std::shared_ptr<cohort>& c, std::error_code why, spi::time_point now, errands& todo) {
    no_answer(c, why, now, options_.patience, todo);
}

void engine::no_answer(const std::shared_ptr<cohort>& c, std::error_code why, spi::time_point now,
                       spi::duration patience, errands& todo) {
    c->in_flight.store(false, std::memory_order_release);
    ++c->asked->failures;
    if (now - c->asked->failing_since < patience) {
        emit(event_kind::retried, c->terms.name, {}, why);
        return;
    }
    refuse_line(*c, errc::unreachable, silence_of(*c), todo);
    todo.goodbye = goodbye(*c, now);  // it may have been granted without our knowing
    end(c);
}

spi::duration engine::patience_with_nobody_there(const cohort& c) const {
    const bool waits =
        std::any_of(c.line.begin(), c.line.end(), [](const auto& who) { return !who->waiting->no_wait; });
    return waits ? options_.patience : options_.try_patience.value_or(options_.patience);
}

std::string engine::silence_of(const cohort& c) {
    return c.asked->trouble.empty() ? "the store did not answer; is it running, and is the address right?"
                                    : "the store did not answer: " + c.asked->trouble;
}

void engine::refuse_line(cohort& c, std::error_code why, const std::string& what, errands& todo) {
    for (const auto& who : c.line) {
        who->is = claimant::phase::over;
        todo.refused.emplace_back(who, refuse(why, c.terms.name, what));
    }
    c.line.clear();
}

spi::duration engine::pause_before_next_look(const cohort& c) const {
    // Whatever the lease: a store that keeps silent is to be noticed.
    const spi::duration pace = std::min(c.terms.lease ? *c.terms.lease / 3 : idle_look, options_.patience);
    spi::duration usual = pace - part(pace / 10, spread(c.id, 0));
    // Once more before the wait ends in vain, so that it can say who is in the way by then.
    const spi::time_point until = c.line.empty() ? spi::time_point::max() : c.line.front()->waiting->deadline;
    if (until != spi::time_point::max()) {
        const spi::duration left = until - last_words - c.asked->heard;
        if (left > last_words) usual = std::min(usual, left);
    }
    const spi::standing& at = *c.asked->standing;
    if (at.place.value_or(1) > 1 || !at.free_in) return usual;
    // Next in line: look when the holder's lease ends, which the store may not tell us of.
    const spi::duration jitter = std::min<spi::duration>(pace / 10, seconds{1});
    return std::min(usual, std::max(*at.free_in, spi::duration::zero()) + part(jitter, spread(c.id, 1)));
}

}  // namespace mortise::inline v0::core
