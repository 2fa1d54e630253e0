#include "stores/sql/row_claims.hpp"

#include "stores/sql/answers.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

using std::chrono::milliseconds;
using claim_is = spi::claim_answer::verdict;
using fate = base::queued_claim::fate;
using action_kind = base::queued_claim::action::kind;
using phase = base::queued_claim::phase;
using where = base::queued_claim::action::where;

// How long a claim of ours takes to leave, more or less; and before what was not answered is asked again.
constexpr milliseconds leaves_in{10};
constexpr milliseconds looks_again_in{50};
constexpr milliseconds leaves_again_in{1000};

// A statement that was given up can be carried out as long as the server has it in a buffer.
constexpr std::chrono::microseconds marked_for = std::chrono::hours{1};

// Of a claim whose id others know: a repeated release is answered as the first was, by whatever way it comes.
constexpr auto remembered_for =
    std::chrono::duration_cast<std::chrono::microseconds>(base::ended_claim::remembered_for);

constexpr std::chrono::seconds usual_lease{30};

// How long a client that goes waits for its claims to leave. They would expire.
constexpr milliseconds last_wait{250};

std::int64_t microseconds_of(spi::duration d) {
    return std::chrono::ceil<std::chrono::microseconds>(d).count();
}

value optional_id(const claim_id& id) {
    return id == claim_id{} ? value{} : value{bytes_of(id)};
}

std::int64_t number_at(const result& answer, std::size_t column) {
    if (answer.rows.empty() || answer.rows.front().size() <= column) return 0;
    const auto* number = std::get_if<std::int64_t>(&answer.rows.front()[column]);
    return number != nullptr ? *number : 0;
}

spi::claim_answer not_understood() {
    return {
        .is = claim_is::unknown, .reason = errc::unreachable, .detail = "an answer of the database could not be read"};
}

}  // namespace

row_claims::row_claims(std::shared_ptr<const row_parts> parts, row_waker_factory make_waker)
    : parts_(std::move(parts)), make_waker_(std::move(make_waker)) {}

void row_claims::start() {
    if (make_waker_)
        waker_ = make_waker_([weak = weak_from_this()](const claim_id& id) {
            if (const auto self = weak.lock()) self->look(id);
        });
}

row_claim_ptr row_claims::known(const claim_id& id) const {
    const auto it = claims_.find(id);
    return it != claims_.end() ? it->second : nullptr;
}

row_claim_ptr row_claims::record_of(const spi::claim_request& wanted) {
    row_claim_ptr& claim = claims_[wanted.id];
    if (claim) return claim;
    const base::line_entry entry{
        .id = wanted.id, .capacity = wanted.capacity, .weight = wanted.weight, .instead_of = wanted.instead_of};
    claim = std::make_shared<row_claim>(rules_of(entry));
    claim->name = wanted.name;
    claim->entry = entry;
    claim->lease = wanted.lease.value_or(usual_lease);
    claim->label = wanted.label;
    claim->detached = wanted.kept_by == kept_by::lease;
    return claim;
}

void row_claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    if (!known(wanted.id) && released_.find(wanted.id, parts_->context.clock.now()) != nullptr)
        return later(
            [done = std::move(done)]() mutable { done({.is = claim_is::refused, .reason = errc::cancelled}); });
    const row_claim_ptr claim = record_of(wanted);
    claim->queues = wanted.queue;
    claim->claimers.push_back(std::move(done));
    run(claim, claim->machine.ask(wanted.queue), later);
}

void row_claims::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    const base::ended_claim* ended = released_.find(id, parts_->context.clock.now());
    if (ended != nullptr)
        return later([done = std::move(done), reply = spi::release_answer(ended->answer)]() mutable { done(reply); });
    row_claim_ptr claim = known(id);
    if (claim && claim->name != name) return remove_elsewhere(name, id, std::move(done), later);
    if (!claim) {  // of another client: whoever made it, its row is to go
        const base::line_entry entry{.id = id};
        claim = std::make_shared<row_claim>(rules_of(entry));
        claim->machine = machine::of_another(rules_of(entry));
        claim->name = name;
        claim->entry = entry;
        claim->detached = true;
        claims_.emplace(id, claim);
    }
    claim->releasers.push_back(std::move(done));
    run(claim, claim->machine.release(), later);
}

// ---- events

void row_claims::look(const claim_id& id) {
    if (closed_) return;
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    if (const row_claim_ptr claim = known(id)) run(claim, claim->machine.woken(), later);
}

void row_claims::gone(const claim_id& id) {
    if (closed_) return;
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    if (const row_claim_ptr claim = known(id)) run(claim, claim->machine.vanished(), later);
}

// Whoever waits may have missed its turn, or was thought to be dead.
void row_claims::reconnected() {
    if (closed_) return;
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    std::vector<row_claim_ptr> all;
    for (const auto& [id, claim] : claims_) all.push_back(claim);
    for (const row_claim_ptr& claim : all) run(claim, claim->machine.retry(), later);
    later([this] { parts_->context.events.reconnected(); });
}

bool row_claims::any_waits() const {
    const std::scoped_lock guard{mutex_};
    return std::ranges::any_of(claims_, [](const auto& one) {
        const phase is = one.second->machine.is();
        return is == phase::waiting || is == phase::reading || is == phase::exchanging;
    });
}

// ---- actions

void row_claims::run(const row_claim_ptr& claim, const machine::actions& actions, deferred_calls& later,
                     const row_line* line) {
    for (const action& what : actions) {
        if (what.ticket != 0)
            request(claim, what, later, line);
        else
            tell(claim, what, later);
    }
}

void row_claims::request(const row_claim_ptr& claim, const action& what, deferred_calls& later, const row_line* line) {
    switch (what.what) {
        case action_kind::enter:
            return enter(claim, what, later);
        case action_kind::read:
            return read(claim, what.ticket, later);
        case action_kind::exchange:
            return exchange(claim, what, *line, later);
        case action_kind::stamp:
            return stamp(claim, what, *line, later);
        case action_kind::confirm:
            return confirm(claim, what.ticket, later);
        case action_kind::remove:
            return remove(claim, what, later);
        default:  // a line says who holds
            return;
    }
}

void row_claims::tell(const row_claim_ptr& claim, const action& what, deferred_calls& later) {
    const spi::time_point now = parts_->context.clock.now();
    const claim_id& id = claim->entry.id;
    switch (what.what) {
        case action_kind::answer: {
            spi::claim_answer reply = what.answer_is;
            if (reply.is == claim_is::granted) reply.grant = claim->grant(reply.grant.counter);
            return claim->answer(reply, later);
        }
        case action_kind::granted:
            return later([this, claim, grant = claim->grant(what.answer_is.grant.counter)] {
                parts_->context.events.granted(claim->name, claim->entry.id, grant);
            });
        case action_kind::lost:
            return later([this, claim] { parts_->context.events.lost(claim->name, claim->entry.id); });
        case action_kind::released:
            if (what.released_as != spi::release_answer::unknown)
                released_.add(base::ended_claim::at(now, id, what.released_as), now);
            return claim->answer_release(what.released_as, later);
        case action_kind::watch:
            if (waker_) waker_->watch(id, what.verdict.watch);
            return;
        case action_kind::unwatch:
            if (waker_) waker_->unwatch(id);
            return;
        case action_kind::linger:
            return retry_later(claim, leaves_in);
        case action_kind::retry:
            return retry_later(claim, claim->machine.leaves() ? leaves_again_in : looks_again_in);
        case action_kind::old_gone:
            return old_gone(claim, later);
        case action_kind::old_stays:
            if (const row_claim_ptr old = known(claim->entry.instead_of)) run(old, old->machine.not_replaced(), later);
            return;
        case action_kind::forget:
            claims_.erase(id);
            return;
        default:  // a hold is not watched: the server tells, or the next renewal does
            return;
    }
}

// ---- statements

// Sent without the mutex, since it may be answered at once.
template <class Then>
void row_claims::ask(const row_claim_ptr& claim, ticket of, const statement& what, values bound, deferred_calls& later,
                     Then then) {
    auto answered = [weak = weak_from_this(), claim, of, then = std::move(then)](const result& answer) mutable {
        const auto self = weak.lock();
        if (!self || self->closed_) return;
        deferred_calls after;
        const std::scoped_lock guard{self->mutex_};
        if (answer.how.ok()) return then(*self, answer, after);
        self->run(claim, claim->machine.failed(of, fate_of(answer.how), answer_of(answer.how)), after);
    };
    later([this, &what, bound = std::move(bound), answered = std::move(answered)]() mutable {
        parts_->rows->run(what, std::move(bound), std::move(answered));
    });
}

void row_claims::enter(const row_claim_ptr& claim, const action& what, deferred_calls& later) {
    const ticket of = what.ticket;
    if (!claim->machine.entry_sent(of)) return run(claim, claim->machine.failed(of, fate::not_done, {}), later);
    claim->confirmed = false;
    const std::int64_t only_if_it_holds = what.how == where::at_end ? 0 : 1;
    const base::line_entry& entry = claim->entry;
    values bound{claim->name,
                 bytes_of(entry.id),
                 parts_->session,
                 std::int64_t{entry.capacity},
                 std::int64_t{entry.weight},
                 optional_id(entry.instead_of),
                 only_if_it_holds,
                 microseconds_of(claim->lease),
                 std::int64_t{row_parts::waits_for.count()},
                 parts_->context.host,
                 std::int64_t{parts_->context.pid},
                 claim->label,
                 near_rows};
    ask(claim, of, parts_->dialect.enter, std::move(bound), later,
        [claim, of, sent = parts_->context.clock.now()](row_claims& self, const result& answer, deferred_calls& after) {
            self.line_read(claim, of, near_rows, answer, sent, after);
        });
}

void row_claims::read(const row_claim_ptr& claim, ticket of, deferred_calls& later) {
    const std::int64_t most = std::exchange(claim->read_whole, false) ? all_rows : near_rows;
    values bound{claim->name, bytes_of(claim->entry.id), parts_->session, microseconds_of(claim->lease), most};
    ask(claim, of, parts_->dialect.look, std::move(bound), later,
        [claim, of, most, sent = parts_->context.clock.now()](row_claims& self, const result& answer,
                                                              deferred_calls& after) {
            self.line_read(claim, of, most, answer, sent, after);
        });
}

void row_claims::line_read(const row_claim_ptr& claim, ticket of, std::int64_t most, const result& answer,
                           spi::time_point sent, deferred_calls& later) {
    const auto line = row_line::of(answer, most);
    if (!line) return run(claim, claim->machine.failed(of, fate::unsure, not_understood()), later);
    if (const row_entry* mine = line->find(claim->entry.id); mine != nullptr && mine->confirmed && !claim->confirmed) {
        claim->confirmed = true;
        claim->counted_from = sent;
    }
    const auto view = view_of(*claim, *line, [this](const claim_id& id) {
        const row_claim_ptr other = known(id);
        return other && other->machine.leaves();
    });
    if (!view) {
        claim->read_whole = true;
        return run(claim, claim->machine.entered(of), later);
    }
    run(claim, claim->machine.seen(of, *view, parts_->context.clock.now()), later, &*line);
}

// Right only if nothing has changed of what judge() looked at: else the line is read again.
void row_claims::exchange(const row_claim_ptr& claim, const action& what, const row_line& line, deferred_calls& later) {
    if (const row_claim_ptr old = known(claim->entry.instead_of)) old->machine.yield();
    std::string guards;
    for (const claim_id& id : what.verdict.guards) guards += bytes_of(id);
    move(claim, what, claim->entry.instead_of, std::move(guards), line.floor, later);
}

// To its own place. An exchange went before it, so that its number is too small for a token.
void row_claims::stamp(const row_claim_ptr& claim, const action& what, const row_line& line, deferred_calls& later) {
    move(claim, what, claim->entry.id, bytes_of(claim->entry.id), line.floor, later);
}

void row_claims::move(const row_claim_ptr& claim, const action& what, const claim_id& to_place_of, std::string guards,
                      std::uint64_t floor, deferred_calls& later) {
    values bound{claim->name,
                 bytes_of(claim->entry.id),
                 bytes_of(to_place_of),
                 std::move(guards),
                 static_cast<std::int64_t>(floor),
                 parts_->session,
                 microseconds_of(claim->lease)};
    ask(claim, what.ticket, parts_->dialect.move, std::move(bound), later,
        [claim, of = what.ticket, exchanges = what.what == action_kind::exchange, sent = parts_->context.clock.now()](
            row_claims& self, const result& answer, deferred_calls& after) {
            const auto counter = static_cast<std::uint64_t>(number_at(answer, 0));
            if (counter == 0) return self.run(claim, claim->machine.changed(of), after);
            claim->confirmed = true;
            claim->counted_from = sent;
            self.run(claim, exchanges ? claim->machine.exchanged(of, counter) : claim->machine.stamped(of, counter),
                     after);
        });
}

// Most are confirmed by the statement that found them to hold.
void row_claims::confirm(const row_claim_ptr& claim, ticket of, deferred_calls& later) {
    if (claim->confirmed) return run(claim, claim->machine.confirmed(of), later);
    values bound{bytes_of(claim->entry.id), microseconds_of(claim->lease)};
    ask(claim, of, parts_->dialect.confirm, std::move(bound), later,
        [claim, of, sent = parts_->context.clock.now()](row_claims& self, const result& answer, deferred_calls& after) {
            if (number_at(answer, 0) == 0) return self.run(claim, claim->machine.changed(of), after);
            claim->confirmed = true;
            claim->counted_from = sent;
            self.run(claim, claim->machine.confirmed(of), after);
        });
}

void row_claims::remove(const row_claim_ptr& claim, const action& what, deferred_calls& later) {
    const std::int64_t mark = what.late ? marked_for.count() : claim->detached ? -remembered_for.count() : 0;
    values bound{claim->name, bytes_of(claim->entry.id), parts_->session, mark};
    ask(claim, what.ticket, parts_->dialect.leave, std::move(bound), later,
        [claim, of = what.ticket](row_claims& self, const result& answer, deferred_calls& after) {
            claim->confirmed = false;
            self.run(claim,
                     claim->machine.removed(of, {.was_there = number_at(answer, 0) != 0,
                                                 .took_place = number_at(answer, 1) != 0,
                                                 .others = number_at(answer, 2) != 0}),
                     after);
        });
}

// A claim of ours on another name: nothing of it is on this one.
void row_claims::remove_elsewhere(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done,
                                  deferred_calls& later) {
    later([this, bound = values{std::string(name), bytes_of(id), parts_->session, std::int64_t{0}},
           done = std::move(done)]() mutable {
        parts_->rows->run(parts_->dialect.leave, std::move(bound),
                          [done = std::move(done)](const result& answer) mutable {
                              using enum spi::release_answer;
                              const bool others = number_at(answer, 2) != 0;
                              done(!answer.how.ok() ? unknown : others ? taken_over : expired);
                          });
    });
}

void row_claims::old_gone(const row_claim_ptr& claim, deferred_calls& later) {
    const spi::time_point now = parts_->context.clock.now();
    const claim_id& id = claim->entry.instead_of;
    if (const row_claim_ptr old = known(id)) run(old, old->machine.replaced(), later);
    released_.add(base::ended_claim::at(now, id, spi::release_answer::released), now);
}

void row_claims::retry_later(const row_claim_ptr& claim, spi::duration pause) {
    spi::clock& clock = parts_->context.clock;
    clock.at(clock.now() + pause, [weak = weak_from_this(), id = claim->entry.id] {
        const auto self = weak.lock();
        if (!self || self->closed_) return;
        deferred_calls later;
        const std::scoped_lock guard{self->mutex_};
        if (const row_claim_ptr still = self->known(id)) self->run(still, still->machine.retry(), later);
    });
}

// What is left of this client leaves, if the server answers soon.
void row_claims::close() noexcept {
    if (closed_.exchange(true)) return;
    if (waker_) waker_->close();
    std::unordered_map<claim_id, row_claim_ptr> all;
    {
        const std::scoped_lock guard{mutex_};
        all.swap(claims_);
    }
    const auto open = std::make_shared<std::atomic<std::size_t>>(0);
    connection& line = parts_->rows->line();
    if (line.up()) {
        for (const auto& [id, claim] : all) {
            if (claim->detached) continue;
            ++*open;
            parts_->rows->run(parts_->dialect.leave, {claim->name, bytes_of(id), parts_->session, std::int64_t{0}},
                              [open](const result&) { --*open; });
        }
        line.serve(last_wait, [&] { return *open == 0; });
    }
}

}  // namespace mortise::inline v0::stores::sql
