#include "stores/etcd/claims.hpp"

#include "stores/etcd/answers.hpp"
#include "stores/etcd/holders.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;
using claim_is = spi::claim_answer::verdict;
using fate = base::queued_claim::fate;
using kind = base::queued_claim::action::kind;
using where = base::queued_claim::action::where;
using verdict = base::line_verdict::verdict;

// How soon one that is next looks again while its watch is young, and how soon one that is near. See watch_table.hpp.
constexpr milliseconds next_looks{10};
constexpr milliseconds near_looks{25};
constexpr std::size_t near_place = 16;

// So many are seen at a glance.
constexpr std::size_t a_few = 16;

// How long a claim of ours takes to leave, more or less; and before what was not answered is asked again.
constexpr milliseconds leaves_in{10};
constexpr milliseconds looks_again_in{50};
constexpr milliseconds leaves_again_in{1000};

// How often it is asked whether a retired lease is still in use.
constexpr std::chrono::seconds retired_for{10};

// How long a client that goes waits for its leases to be revoked. They would end by themselves.
constexpr milliseconds last_wait{250};

entry_mode mode_of(where how) {
    return how == where::at_end     ? entry_mode::anyhow
           : how == where::if_empty ? entry_mode::if_empty
                                    : entry_mode::if_same;
}

fate fate_of(const rpc_result& reply) {
    return reply.is == rpc_result::verdict::unknown && reply.reason != errc::cancelled ? fate::unsure : fate::not_done;
}

spi::claim_answer not_known(std::string detail = {}) {
    return {.is = claim_is::unknown, .reason = errc::unreachable, .detail = std::move(detail)};
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
    removals_ = std::make_shared<removals>(parts_, table_, [weak = weak_from_this()](const auto& which) {
        if (const auto self = weak.lock()) self->retire(which);
    });
    holds_ = std::make_shared<hold_watch>(parts_, table_, [weak = weak_from_this()](const record& claim) {
        if (const auto self = weak.lock()) self->on(claim, [](machine& its) { return its.vanished(); });
    });
}

void claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    if (table_->was_released(wanted.name, wanted.id)) return done({.is = claim_is::refused, .reason = errc::cancelled});
    record its;
    {
        const auto held = table_->locked();
        its = table_->record_of(wanted, held);
    }
    on(its, [&](machine& m) {
        its->asked.push_back(std::move(done));
        return m.ask(wanted.queue);
    });
}

void claims::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    if (const auto before = table_->remembered(name, id)) return done(*before);
    record its;
    {
        const auto held = table_->locked();
        its = table_->find(id, held);
    }
    if (its && its->name == name)
        return on(its, [&](machine& m) {
            its->released.push_back(std::move(done));
            return m.release();
        });
    table_->remember(std::string(name), id, std::nullopt);  // its claim may be on its way here, from another thread
    removals_->remove_another(name, id,
                              [self = shared_from_this(), name = std::string(name), id,
                               done = std::move(done)](const std::optional<removals::removal>& how) mutable {
                                  using enum spi::release_answer;
                                  if (!how) return done(unknown);
                                  const bool others = how->others.value_or(false);
                                  const auto reply = how->was_there ? released : others ? taken_over : expired;
                                  self->table_->remember(name, id, reply);
                                  done(reply);
                              });
}

// Events.

template <class Event>
void claims::on(const record& claim, Event event, const line* found) {
    step now;
    {
        const auto held = table_->locked();
        now.todo = event(claim->machine);
        now.on = claim->on;
        for (const action& what : now.todo) {
            if (what.what == kind::answer)
                std::ranges::move(std::exchange(claim->asked, {}), std::back_inserter(now.asked));
            if (what.what == kind::released)
                std::ranges::move(std::exchange(claim->released, {}), std::back_inserter(now.released));
            if (what.what == kind::watch_hold) claim->was_held = true;
        }
    }
    carry_out(claim, std::move(now), found);
}

void claims::carry_out(const record& claim, step now, const line* found) {
    for (const action& what : now.todo) {
        switch (what.what) {
            case kind::enter:
                enter(claim, what);
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
                watch(claim, what.verdict, *found);
                break;
            case kind::unwatch:
                unwatch(claim);
                break;
            case kind::watch_hold:
                if (now.on && claim->own_lease && !claim->renewed) parts_->leases->keep_on(now.on, false);
                holds_->add(claim);
                break;
            case kind::linger:
                retry_later(claim, leaves_in);
                break;
            case kind::retry:
                retry_later(claim, looks_again_in);
                break;
            case kind::released:
                if (what.released_as != spi::release_answer::unknown)
                    table_->remember(claim->name, claim->id, what.released_as);
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
    tell(claim, std::move(now));
}

// The core, after all else: it may ask for the next thing at once.
void claims::tell(const record& claim, step now) {
    for (const action& what : now.todo) {
        switch (what.what) {
            case kind::answer:
                for (auto& each : std::exchange(now.asked, {})) each(with_terms(what.answer_is, now.on));
                break;
            case kind::granted: {
                const spi::claim_answer given = with_terms(what.answer_is, now.on);
                if (given.is == claim_is::granted) parts_->context.events.granted(claim->name, claim->id, given.grant);
                break;
            }
            case kind::lost:
                parts_->context.events.lost(claim->name, claim->id);
                break;
            case kind::released:
                for (auto& each : std::exchange(now.released, {})) each(what.released_as);
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

void claims::enter(const record& claim, const action& what) {
    bool ready = false;
    {
        const auto held = table_->locked();
        ready = claim->on != nullptr;
    }
    if (ready) return send_entry(claim, what);
    auto then = [self = shared_from_this(), claim, what](const rpc_result& reply, const std::shared_ptr<lease>& given) {
        if (!reply.ok()) return self->failed(claim, what.ticket, fate::not_done, answer_of(reply));
        {
            const auto held = self->table_->locked();
            if (!claim->on) claim->on = given;
        }
        self->send_entry(claim, what);
    };
    if (claim->own_lease) return parts_->leases->own(lease_of(claim->id), claim->life, std::move(then));
    parts_->leases->share(claim->life, std::move(then));
}

void claims::send_entry(const record& claim, const action& what) {
    struct sent {
        std::shared_ptr<lease> on{};
        std::optional<claim_record::neighbour> behind{};
    };
    const auto with = std::make_shared<sent>();
    parts_->cluster->ask_in_turn(
        method::txn,
        [self = shared_from_this(), claim, what, with]() -> std::optional<std::string> {
            const auto held = self->table_->locked();
            if (!claim->on || !claim->machine.entry_sent(what.ticket)) return std::nullopt;
            with->on = claim->on;
            if (what.how == where::at_end) with->behind = self->table_->tail_before(*claim, held);
            if (with->behind)
                return enter_behind_request(claim->at, claim->mine.value(), with->on->id, with->behind->key);
            return enter_request(claim->at, claim->mine.value(), with->on->id, mode_of(what.how), claim->line_read_at);
        },
        parts_->settings.timeout,
        [self = shared_from_this(), claim, what, with](const rpc_result& reply, const std::string& bytes) {
            txn_reply read;
            if (reply.ok()) read = read_txn(self->parts_->keys, claim->at.folder, bytes);
            if (reply.no_lease) self->parts_->leases->forget(with->on);
            self->entered(claim, what, reply, read, with->behind);
        });
}

void claims::entered(const record& claim, const action& what, const rpc_result& reply, const txn_reply& read,
                     const std::optional<claim_record::neighbour>& behind) {
    const ticket of = what.ticket;
    if (reply.no_lease)  // with another one, then
        return failed(claim, of, fate::lease_over, not_known("its lease has ended"));
    if (!reply.ok()) return failed(claim, of, fate_of(reply), answer_of(reply));
    if (!read.read || !read.found) return failed(claim, of, fate::unsure, not_understood());
    const entry* own = read.found->find(claim->line_id);
    if (own == nullptr && !(behind && read.succeeded)) {
        if (what.how == where::at_end)  // marked as gone
            return failed(claim, of, fate::not_done, {.is = claim_is::refused, .reason = errc::cancelled});
        return seen(claim, of, *read.found);
    }
    {
        const auto held = table_->locked();
        claim->arrived = own != nullptr ? own->at.arrived : static_cast<std::uint64_t>(read.revision);
    }
    if (behind) return entered_behind(claim, of, *behind, read);
    const bool by_an_earlier_request = what.how == where::at_end && !read.succeeded;
    const bool tells = read.found->judge(claim->line_id).has_value();
    if (tells && !by_an_earlier_request) return seen(claim, of, *read.found);
    on(claim, [&](machine& its) {
        claim->read_whole = !by_an_earlier_request;
        return its.entered(of);
    });
}

// In a long line, which was not read.
void claims::entered_behind(const record& claim, ticket of, const claim_record::neighbour& tail,
                            const txn_reply& read) {
    const entry* last = read.succeeded && !read.found->entries.empty() ? &read.found->entries.front() : nullptr;
    if (last == nullptr || last->at.arrived != tail.created)
        return on(claim, [&](machine& its) { return its.entered(of); });
    line near = *read.found;
    near.missing_before = true;
    machine::line_view view;
    view.in_line = view.others = true;
    view.verdict.is = verdict::waits;
    view.verdict.watch = {last->at.id};
    view.counter = static_cast<std::uint64_t>(read.revision);
    {
        const auto held = table_->locked();
        claim->seen_at = read.revision;
        claim->few_wait = false;
        table_->note_neighbours(claim, near, view.verdict, {}, held);
        view.standing = claim->standing;
    }
    on(
        claim, [&](machine& its) { return its.seen(of, view, parts_->context.clock.now()); }, &near);
}

// Reading.

void claims::read(const record& claim, const action& what) {
    const bool leaves = [&] {
        const auto held = table_->locked();
        return claim->machine.leaves();
    }();
    auto then = [self = shared_from_this(), claim, of = what.ticket](const line_reader::reading& now) {
        if (now.unchanged) return self->on(claim, [&](machine& its) { return its.unchanged(of); });
        if (!now.found)
            return self->failed(claim, of, fate::not_done, now.reply.ok() ? not_understood() : answer_of(now.reply));
        self->seen(claim, of, *now.found);
    };
    if (leaves) return reader_->read_whole(claim, std::move(then));
    reader_->read(claim, what.asked, std::move(then));
}

void claims::seen(const record& claim, ticket of, const line& found) {
    const bool in_line = found.find(claim->line_id) != nullptr;
    auto held = table_->locked();
    claim->line_read_at = found.revision;
    machine::line_view view = in_line ? view_of(claim, found, held) : view_from_outside(claim, found, held);
    held.unlock();
    on(
        claim, [&](machine& its) { return its.seen(of, view, parts_->context.clock.now()); }, &found);
}

claims::machine::line_view claims::view_of(const record& claim, const line& found, const claim_table::lock& held) {
    const entry& own = *found.find(claim->line_id);
    machine::line_view view;
    view.in_line = true;
    view.others = found.entries.size() > 1;
    view.verdict = found.judge(claim->line_id).value_or(base::line_verdict{});
    view.took_place = own.at.place != 0;
    view.counter = own.at.counter();
    view.standing = standing_of(found, view.verdict);
    claim->seen_at = found.revision;
    claim->arrived = own.at.arrived;
    claim->mine.at.place = own.at.place;
    claim->mine.at.stamped = own.at.stamped;
    claim->few_wait = found.entries.size() <= a_few && !found.missing_before;
    if (found.floor != 0) table_->note_floor(claim->name, held);
    if (!claim->on || claim->on->id != own.lease)  // on an earlier one, of which we do not know how long it lasts
        view.refusal = not_known("its lease has ended");
    else if (view.verdict.is == verdict::waits) {
        table_->note_neighbours(claim, found, view.verdict, view.standing, held);
        if (!view.standing.holder && found.missing_before) view.standing.holder = claim->standing.holder;
    }
    return view;
}

// Would it hold at the end of this line?
claims::machine::line_view claims::view_from_outside(const record& claim, const line& found,
                                                     const claim_table::lock& held) {
    machine::line_view view;
    view.others = !found.entries.empty();
    base::line_entry mine = claim->mine.at;
    mine.arrived = mine.written = std::numeric_limits<std::int64_t>::max();
    mine.place = 0;  // it has nobody's place any more
    mine.stamped = false;
    auto shape = found.shape();
    shape.push_back(mine);
    view.verdict = base::judge(shape, mine.id, 0);
    view.standing = standing_of(found, view.verdict);
    std::erase_if(shape, [&](const base::line_entry& one) {
        return one.id != mine.id && table_->leaves(claim->name, one.id, held);
    });
    view.only_leavers = view.verdict.is == verdict::waits && base::judge(shape, mine.id, 0).is == verdict::holds;
    return view;
}

// Granting.

// Right only if nothing has changed of what judge() looked at: else the line is read again.
void claims::exchange(const record& claim, const action& what, const line& found) {
    const entry& old = *found.find(claim->mine.at.instead_of);
    entry changed;
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
    std::vector<const entry*> guards;
    for (const claim_id& id : what.verdict.guards) guards.push_back(found.find(id));
    parts_->cluster->ask(
        method::txn, exchange_request(claim->at, changed.value(), lease_of_it->id, old.key, guards, found.floor),
        parts_->settings.timeout,
        [self = shared_from_this(), claim, what, changed](const rpc_result& reply, const std::string& bytes) {
            const txn_reply read = reply.ok() ? read_txn(self->parts_->keys, {}, bytes) : txn_reply{};
            self->written(claim, what, changed, reply, read);
        });
}

// An exchange went before it, so the revision at which it came is too small for a token.
void claims::stamp(const record& claim, const action& what, const line& found) {
    const entry& mine = *found.find(claim->line_id);
    entry changed;
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

void claims::written(const record& claim, const action& what, const entry& changed, const rpc_result& reply,
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
    table_->remember(old->name, old->id, spi::release_answer::released);
    on(old, [](machine& its) { return its.replaced(); });
    if (old->own_lease && lease_of_old) parts_->leases->revoke(lease_of_old->id, {});
}

// Waiting.

// Looks again when one of them has gone.
void claims::watch(const record& claim, const base::line_verdict& judged, const line& found) {
    std::vector<watcher::number> before;
    std::shared_ptr<lease> lease_of_it;
    {
        const auto held = table_->locked();
        if (claim->watched == judged.watch) return;
        before = std::exchange(claim->watches, {});
        claim->watched = judged.watch;
        lease_of_it = claim->on;
    }
    if (lease_of_it && claim->own_lease) parts_->leases->keep_on(lease_of_it, true);
    // Whoever is far back has time until etcd serves what begins in the past, and need not read the line twice.
    const bool is_near = judged.place >= 1 && judged.place <= near_place;
    const auto begins = is_near ? watcher::begins::now : watcher::begins::there;
    const spi::duration again = judged.place == 1 ? next_looks : is_near ? near_looks : spi::duration{};
    for (const claim_id& id : judged.watch) {
        const entry* one = found.find(id);
        if (one == nullptr) continue;
        const watcher::number made =
            parts_->watches->watch(one->key, found.revision, begins, again, [weak = weak_from_this(), claim] {
                const auto self = weak.lock();
                if (!self) return;
                self->on(claim, [&](machine& its) {
                    claim->watched.clear();
                    return its.woken();
                });
            });
        add_watch(*table_, *parts_->watches, claim, false, made);
    }
    for (const watcher::number each : before) parts_->watches->cancel(each);
}

void claims::unwatch(const record& claim) {
    std::vector<watcher::number> those;
    {
        const auto held = table_->locked();
        those = std::exchange(claim->watches, {});
        claim->watched.clear();
    }
    for (const watcher::number each : those) parts_->watches->cancel(each);
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

// Leases.

// How late a request can be has no bound. So a lease with marks is given to no new claim, and revoked once it has no other use:
// then no late request can do anything, and the marks are gone.
void claims::retire(const std::shared_ptr<lease>& which) {
    if (parts_->leases->retire(which)) revoke_when_unused(which);
}

void claims::revoke_when_unused(const std::shared_ptr<lease>& which) {
    spi::clock& clock = parts_->context.clock;
    clock.at(clock.now() + retired_for, [weak = weak_from_this(), which] {
        const auto self = weak.lock();
        if (!self) return;
        self->parts_->cluster->guarded([&] {
            bool used = false;
            {
                const auto held = self->table_->locked();
                used = !self->table_->all_on(which, held).empty();
            }
            if (used) return self->revoke_when_unused(which);
            self->parts_->leases->keep_on(which, false);
            self->parts_->leases->revoke(which->id, {});
        });
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
    for (const auto& one : parts_->leases->all_shared()) going.push_back(one->id);
    struct parting {
        std::mutex mutex;
        std::condition_variable over;
        std::size_t left;
    };
    const auto all = std::make_shared<parting>();
    all->left = going.size();
    for (const std::int64_t id : going)
        parts_->leases->revoke(id, [all](const rpc_result&) {
            std::scoped_lock guard{all->mutex};
            if (--all->left == 0) all->over.notify_all();
        });
    const auto until = std::chrono::steady_clock::now() + last_wait;
    const auto none_left = [&] {
        std::scoped_lock guard{all->mutex};
        return all->left == 0;
    };
    parts_->cluster->serve(last_wait, none_left);
    {
        std::unique_lock held{all->mutex};
        all->over.wait_until(held, until, [&] { return all->left == 0; });
    }
    parts_->cluster->close();
    parts_->leases->close();
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
