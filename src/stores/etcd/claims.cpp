#include "stores/etcd/claims.hpp"

#include "stores/etcd/answers.hpp"
#include "stores/etcd/line_view.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;
using claim_is = spi::claim_answer::verdict;
using fate = base::queued_claim::fate;
using kind = base::queued_claim::action::kind;
using where = base::queued_claim::action::where;

// How long a claim of ours takes to leave, more or less; and before what was not answered is asked again.
constexpr milliseconds leaves_in{10};
constexpr milliseconds looks_again_in{50};
constexpr milliseconds leaves_again_in{1000};

fate fate_of(const rpc_result& reply) {
    return reply.is == rpc_result::verdict::unknown && reply.reason != errc::cancelled ? fate::unsure : fate::not_done;
}

}  // namespace

claims::claims(std::shared_ptr<client_parts> parts)
    : parts_(std::move(parts)), table_(std::make_shared<claim_table>(parts_)) {}

void claims::start() {
    parts_->leases = std::make_shared<lease_pool>(parts_->cluster, parts_->context.clock, parts_->settings.timeout,
                                                  [weak = weak_from_this()](const std::shared_ptr<lease>& which) {
                                                      if (const auto self = weak.lock()) self->lease_gone(which);
                                                  });
    parts_->watches = std::make_shared<watcher>(parts_->cluster, parts_->context.clock);
    reader_ = std::make_shared<line_reader>(parts_, table_);
    entrance_ = std::make_shared<entrance>(parts_, table_);
    returns_ = std::make_shared<lease_returns>(parts_, table_);
    removals_ = std::make_shared<removals>(
        parts_, table_, [to = returns_](const auto& which) { to->retire(which); },
        [weak = weak_from_this()](const record& claim, std::optional<line_snapshot> found) {
            if (const auto self = weak.lock()) self->turn_of(claim, std::move(found));
        });
    line_watch_ = std::make_shared<line_watch>(parts_, table_, [weak = weak_from_this()](const record& claim) {
        const auto self = weak.lock();
        if (!self) return;
        bool to_be_told = false;
        self->on(claim, [&](machine& its) {
            to_be_told = claim->being_handed;
            if (to_be_told) return machine::actions{};
            claim->watched.clear();
            return its.woken();
        });
        if (to_be_told) self->retry_later(claim, looks_again_in);  // should turn_of() not follow soon
    });
    keepers_ = std::make_shared<keepers>(parts_, table_);
    holds_ = std::make_shared<hold_watch>(parts_, table_, [weak = weak_from_this()](const record& claim) {
        if (const auto self = weak.lock()) self->on(claim, [](machine& its) { return its.vanished(); });
    });
}

// Looked up and made under one lock: a release from another thread comes before that, and is remembered, or finds it.
void claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    record its;
    {
        const auto held = table_->locked();
        if (!table_->was_released(wanted.name, wanted.id, held)) its = table_->record_of(wanted, held);
    }
    if (!its) return done({.is = claim_is::refused, .reason = errc::cancelled});
    on(its, [&](machine& m) {
        its->asked.push_back(std::move(done));
        return m.ask(wanted.queue);
    });
}

void claims::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    record its;
    std::optional<spi::release_answer> before;
    {
        const auto held = table_->locked();
        before = table_->remembered(name, id, held);
        its = table_->find(id, held);
        if (its && its->name != name) its.reset();
        if (!before && !its) table_->remember(name, id, std::nullopt, held);  // its claim may be on its way here
    }
    if (before) return done(*before);
    if (its)
        return on(its, [&](machine& m) {
            its->released.push_back(std::move(done));
            return m.release();
        });
    removals_->remove_another(name, id,
                              [self = shared_from_this(), name = std::string(name), id,
                               done = std::move(done)](const std::optional<removals::removal>& how) mutable {
                                  using enum spi::release_answer;
                                  if (!how) return done(unknown);
                                  const bool others = how->others.value_or(false);
                                  const auto reply = how->was_there ? released : others ? taken_over : expired;
                                  self->remember(name, id, reply);
                                  done(reply);
                              });
}

void claims::remember(std::string_view name, const claim_id& id, spi::release_answer reply) {
    const auto held = table_->locked();
    table_->remember(name, id, reply, held);
}

// Events.

template <class Event>
void claims::on(const record& claim, Event event, const line_snapshot* found) {
    step now;
    {
        const auto held = table_->locked();
        now.todo = event(claim->machine);
        now.on = claim->on;
        for (const action& what : now.todo) {
            if (what.what == kind::answer) now.asked = std::exchange(claim->asked, {});
            if (what.what == kind::released) now.released = std::exchange(claim->released, {});
            if (what.what == kind::watch_hold) {
                claim->was_held = true;
                now.kept = keepers::may_keep(*claim);
            }
        }
        now.behind_keeper = claim->behind_keeper;
    }
    carry_out(claim, now, found);
}

void claims::carry_out(const record& claim, step& now, const line_snapshot* found) {
    for (const action& what : now.todo) {
        switch (what.what) {
            case kind::enter:
                entrance_->enter(claim, what, [self = shared_from_this(), claim, what](const entrance::result& result) {
                    self->entered(claim, what, result);
                });
                break;
            case kind::read:
                read(claim, what);
                break;
            case kind::describe:  // not with these rules
                break;
            case kind::exchange:
                exchange(claim, what, *found);
                break;
            case kind::stamp:
                stamp(claim, what, *found);
                break;
            case kind::confirm:
                confirm(claim, what.ticket);
                break;
            case kind::remove:
                removals_->remove(claim, what, [self = shared_from_this(), claim, of = what.ticket](const auto& how) {
                    if (!how) return self->failed(claim, of, fate::unsure, not_known());
                    self->on(claim, [&](machine& its) { return its.removed(of, *how); });
                });
                break;
            case kind::watch:
                line_watch_->watch(claim, *what.verdict, *found);
                break;
            case kind::unwatch:
                line_watch_->stop(claim);
                break;
            case kind::watch_hold:
                if (now.on && claim->own_lease && !claim->renewed) parts_->leases->keep_on(now.on, false);
                holds_->add(claim);
                if (now.kept) keepers_->listen(claim);
                break;
            case kind::linger:
                retry_later(claim, leaves_in);
                break;
            case kind::retry:
                retry_later(claim, looks_again_in);
                break;
            case kind::released:
                if (what.released_as != spi::release_answer::unknown)
                    remember(claim->name, claim->id, what.released_as);
                break;
            case kind::answer:
            case kind::granted:
            case kind::lost:  // see below
                break;
            case kind::old_gone:
                old_gone(claim);
                break;
            case kind::old_stays: {
                record old;
                {
                    const auto held = table_->locked();
                    old = table_->find(claim->mine.at.instead_of, held);
                }
                if (old) on(old, [](machine& its) { return its.not_replaced(); });
                break;
            }
            case kind::forget:
                if (now.on && claim->own_lease) parts_->leases->keep_on(now.on, false);
                table_->forget(claim);
                break;
        }
    }
    tell(claim, now);
}

// The core, after all else: it may ask for the next thing at once.
void claims::tell(const record& claim, step& now) {
    for (const action& what : now.todo) {
        switch (what.what) {
            case kind::answer: {
                spi::claim_answer reply = with_terms(*what.answer_is, now.on);
                reply.grant.told = now.kept;
                reply.kept = reply.is == claim_is::busy && now.behind_keeper;
                for (auto& each : now.asked) each(reply);
                break;
            }
            case kind::granted: {
                const spi::claim_answer given = with_terms(*what.answer_is, now.on);
                if (given.is == claim_is::granted) parts_->context.events.granted(claim->name, claim->id, given.grant);
                break;
            }
            case kind::lost:
                parts_->context.events.lost(claim->name, claim->id);
                break;
            case kind::released:
                for (auto& each : now.released) each(what.released_as);
                break;
            default:
                break;
        }
    }
}

// Its lease may have ended meanwhile.
spi::claim_answer claims::with_terms(spi::claim_answer reply, const std::shared_ptr<lease>& lease_of_it) const {
    if (reply.is != claim_is::granted) return reply;
    if (!lease_of_it) return not_known();
    const lease_pool::terms terms = parts_->leases->terms_of(*lease_of_it);
    reply.grant.lease = terms.life;
    reply.grant.counted_from = terms.proven;
    return reply;
}

void claims::failed(const record& claim, ticket of, fate what, const spi::claim_answer& why) {
    on(claim, [&](machine& its) { return its.failed(of, what, why); });
}

// etcd has ended a lease, and with it all keys on it.
void claims::lease_gone(const std::shared_ptr<lease>& which) {
    std::vector<record> those;
    {
        const auto held = table_->locked();
        those = table_->all_on(which, held);
    }
    for (const record& claim : those)
        on(claim, [&](machine& its) {
            if (claim->on == which) claim->on.reset();
            return its.lease_over();
        });
}

// Entering.

void claims::entered(const record& claim, const action& what, const entrance::result& result) {
    const ticket of = what.ticket;
    const rpc_result& reply = result.reply;
    const txn_reply& read = result.read;
    if (!result.sent) return failed(claim, of, fate::not_done, answer_of(reply));
    if (reply.no_lease)  // with another one, then
        return failed(claim, of, fate::lease_over, not_known("its lease has ended"));
    if (!reply.ok()) return failed(claim, of, fate_of(reply), answer_of(reply));
    if (!read.read || !read.found) return failed(claim, of, fate::unsure, not_understood());
    const stored_claim* own = read.found->find(claim->line_id);
    if (own == nullptr && !(result.behind && read.succeeded)) {
        if (what.how == where::at_end)  // marked as gone
            return failed(claim, of, fate::not_done, {.is = claim_is::refused, .reason = errc::cancelled});
        return seen(claim, of, *read.found);
    }
    {
        const auto held = table_->locked();
        claim->arrived = own != nullptr ? own->at.arrived : static_cast<std::uint64_t>(read.revision);
        claim->handed.reset();
    }
    if (result.behind) return entered_behind(claim, of, *result.behind, read);
    const bool by_an_earlier_request = what.how == where::at_end && !read.succeeded;
    std::optional<base::line_verdict> judged;
    if (!by_an_earlier_request) judged = read.found->judge(claim->line_id);
    if (judged) return seen(claim, of, *read.found, std::move(judged));
    on(claim, [&](machine& its) {
        claim->read_whole = !by_an_earlier_request;
        return its.entered(of);
    });
}

// In a long line, which was not read.
void claims::entered_behind(const record& claim, ticket of, const claim_record::neighbour& tail,
                            const txn_reply& read) {
    const stored_claim* last = read.succeeded && !read.found->entries.empty() ? &read.found->entries.front() : nullptr;
    if (last == nullptr || last->at.arrived != tail.created)
        return on(claim, [&](machine& its) { return its.entered(of); });
    wait_behind(claim, of, *read.found, *last);
}

void claims::wait_behind(const record& claim, ticket of, const line_snapshot& found, const stored_claim& last) {
    const line_snapshot near{.revision = found.revision, .entries = {last}, .missing_before = true};
    auto held = table_->locked();
    const machine::line_view view = view_behind(*table_, claim, near, last, held);
    held.unlock();
    decide(claim, of, view, near);
}

// Reading.

void claims::read(const record& claim, const action& what) {
    bool leaves = false;
    std::int64_t seen_at = 0;
    std::optional<line_snapshot> handed;
    {
        const auto held = table_->locked();
        leaves = claim->machine.leaves();
        seen_at = claim->seen_at;
        handed.swap(claim->handed);
    }
    if (handed && !leaves && !table_->has_floor(claim->name))
        if (auto judged = handed->judge_hold(claim->line_id, seen_at))
            return seen(claim, what.ticket, *handed, std::move(judged));
    auto then = [self = shared_from_this(), claim, of = what.ticket](const line_reader::reading& now) {
        if (now.unchanged) return self->on(claim, [&](machine& its) { return its.unchanged(of); });
        if (!now.found)
            return self->failed(claim, of, fate::not_done, now.reply.ok() ? not_understood() : answer_of(now.reply));
        if (now.further_back) return self->wait_behind(claim, of, *now.found, now.found->entries.back());
        self->seen(claim, of, *now.found, now.judged);
    };
    if (leaves) return reader_->read_whole(claim, std::move(then));
    reader_->read(claim, what.asked, std::move(then));
}

void claims::seen(const record& claim, ticket of, const line_snapshot& found,
                  std::optional<base::line_verdict> judged) {
    auto held = table_->locked();
    const machine::line_view view = view_of(*table_, claim, found, std::move(judged), held);
    const bool would_hold = view.verdict.is == base::line_verdict::verdict::holds;
    const bool asks = !view.in_line && !claim->machine.leaves() && !would_hold;
    const stored_claim* const keeper = asks ? keepers::keeper_in(found) : nullptr;
    claim->behind_keeper = keeper != nullptr;
    held.unlock();
    if (keeper != nullptr) keepers_->ask(*keeper);
    decide(claim, of, view, found);
}

void claims::decide(const record& claim, ticket of, const machine::line_view& view, const line_snapshot& found) {
    on(
        claim, [&](machine& its) { return its.seen(of, view, parts_->context.clock.now()); }, &found);
}

// Who held before it has left, and it is first: so it need not ask. Without what was found, it looks.
void claims::turn_of(const record& claim, std::optional<line_snapshot> found) {
    on(claim, [&](machine& its) {
        claim->being_handed = false;
        claim->watched.clear();
        machine::actions next = its.woken();
        if (its.busy()) claim->handed = std::move(found);  // it reads, now or next: not some time later
        return next;
    });
}

// Granting.

// Right only if nothing has changed of what judge() looked at: else the line is read again.
void claims::exchange(const record& claim, const action& what, const line_snapshot& found) {
    const stored_claim& old = *found.find(claim->mine.at.instead_of);
    stored_claim changed;
    std::shared_ptr<lease> lease_of_it;
    {
        const auto held = table_->locked();
        lease_of_it = claim->on;
        changed = claim->mine;
        if (const record before = table_->find(claim->mine.at.instead_of, held)) before->machine.yield();
    }
    if (!lease_of_it) return failed(claim, what.ticket, fate::not_done, not_known());
    changed.at.place = old.at.stands_at();
    changed.at.stamped = true;
    std::vector<const stored_claim*> guards;
    for (const claim_id& id : what.verdict->guards) guards.push_back(found.find(id));
    parts_->cluster->ask(
        method::txn, exchange_request(claim->at, changed.value(), lease_of_it->id, old.key, guards, found.floor),
        parts_->settings.timeout,
        [self = shared_from_this(), claim, what, changed](const rpc_result& reply, const std::string& bytes) {
            const txn_reply read = reply.ok() ? read_txn(self->parts_->keys, {}, bytes) : txn_reply{};
            self->written(claim, what, changed, reply, read);
        });
}

// An exchange went before it, so the revision at which it came is too small for a token.
void claims::stamp(const record& claim, const action& what, const line_snapshot& found) {
    const stored_claim& mine = *found.find(claim->line_id);
    stored_claim changed;
    {
        const auto held = table_->locked();
        changed = claim->mine;
    }
    changed.at.stamped = true;
    parts_->cluster->ask(
        method::txn, stamp_request(mine, changed.value(), found.floor, claim->at.folder), parts_->settings.timeout,
        [self = shared_from_this(), claim, what, changed](const rpc_result& reply, const std::string& bytes) {
            const txn_reply read = reply.ok() ? read_txn(self->parts_->keys, {}, bytes) : txn_reply{};
            self->written(claim, what, changed, reply, read);
        });
}

void claims::written(const record& claim, const action& what, const stored_claim& changed, const rpc_result& reply,
                     const txn_reply& read) {
    if (!read.read)
        return failed(claim, what.ticket, reply.ok() ? fate::unsure : fate_of(reply), not_known(reply.detail));
    const auto counter = static_cast<std::uint64_t>(read.revision);
    on(claim, [&](machine& its) {
        if (!read.succeeded) return its.changed(what.ticket);
        claim->mine = changed;
        claim->seen_at = read.revision;
        return what.what == kind::exchange ? its.exchanged(what.ticket, counter) : its.stamped(what.ticket, counter);
    });
}

// The time of a lease that nobody renews begins with the grant, and so does that of one which was kept long ago.
void claims::confirm(const record& claim, ticket of) {
    std::shared_ptr<lease> lease_of_it;
    {
        const auto held = table_->locked();
        lease_of_it = claim->on;
    }
    if (!lease_of_it) return failed(claim, of, fate::not_done, not_known());
    const lease_pool::terms known = parts_->leases->terms_of(*lease_of_it);
    const spi::duration age = parts_->context.clock.now() - known.proven;
    const auto confirmed = [of](machine& its) { return its.confirmed(of); };
    if (age < (claim->renewed ? known.life / 2 : known.life / 20)) return on(claim, confirmed);
    parts_->leases->keep(lease_of_it, [self = shared_from_this(), claim, of, confirmed](lease_pool::answer is) {
        if (is == lease_pool::answer::alive) return self->on(claim, confirmed);
        self->failed(claim, of, fate::not_done, not_known("its lease was not confirmed"));
    });
}

// The old hold has become this one.
void claims::old_gone(const record& claim) {
    record old;
    std::shared_ptr<lease> lease_of_old;
    {
        const auto held = table_->locked();
        table_->note_floor(claim->name, held);
        old = table_->find(claim->mine.at.instead_of, held);
        if (old) lease_of_old = old->on;
    }
    if (!old) return;
    remember(old->name, old->id, spi::release_answer::released);
    on(old, [](machine& its) { return its.replaced(); });
    if (old->own_lease && lease_of_old) parts_->leases->revoke(lease_of_old->id, {});
}

void claims::retry_later(const record& claim, spi::duration pause) {
    spi::clock& clock = parts_->context.clock;
    const bool leaves = [&] {
        const auto held = table_->locked();
        return claim->machine.leaves();
    }();
    clock.at(clock.now() + (leaves ? leaves_again_in : pause), [weak = weak_from_this(), claim] {
        const auto self = weak.lock();
        if (!self) return;
        self->parts_->cluster->guarded([&] { self->on(claim, [](machine& its) { return its.retry(); }); });
    });
}

void claims::close() noexcept {
    if (closed_.exchange(true)) return;
    std::vector<std::int64_t> going;
    std::vector<record> all_claims;
    {
        const auto held = table_->locked();
        all_claims = table_->all(held);
        for (const record& claim : all_claims)
            if (claim->own_lease && !claim->detached && claim->on) going.push_back(claim->on->id);
    }
    returns_->revoke_all(std::move(going));
    parts_->cluster->close();
    parts_->leases->close();
    reader_->close();
    removals_->close();
    std::vector<spi::reply<spi::claim_answer>> owed;  // after the lock: they may own anything
    std::vector<spi::reply<spi::release_answer>> owed_releases;
    const auto held = table_->locked();
    for (const record& claim : all_claims) {
        std::ranges::move(std::exchange(claim->asked, {}), std::back_inserter(owed));
        std::ranges::move(std::exchange(claim->released, {}), std::back_inserter(owed_releases));
    }
}

}  // namespace mortise::inline v0::stores::etcd
