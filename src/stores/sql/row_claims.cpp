#include "stores/sql/row_claims.hpp"

#include "stores/sql/answers.hpp"
#include "stores/sql/row_values.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <unordered_set>
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

// How long a client that goes waits for its claims to leave. They would expire.
constexpr milliseconds last_wait{250};

std::int64_t number_at(const result& answer, std::size_t column) {
    if (answer.rows.empty() || answer.rows.front().size() <= column) return 0;
    const auto* number = std::get_if<std::int64_t>(&answer.rows.front()[column]);
    return number != nullptr ? *number : 0;
}

spi::claim_answer not_understood() {
    return {
        .is = claim_is::unknown, .reason = errc::unreachable, .detail = "an answer of the database could not be read"};
}

// How long until one of the holds is over.
spi::duration first_end_of(const row_line& line) {
    spi::duration left = spi::duration::max();
    for (const row_entry& one : line.entries)
        if (one.confirmed) left = std::min(left, one.left);
    return left;
}

row_waker::waiter waiting(const row_claim& claim, const row_waiters& all) {
    return {.id = claim.entry.id, .stands = claim.stands, .before = claim.before, .ungranted = all.ungranted_at(claim)};
}

// A claim of ours on another name: nothing of it is on this one.
void remove_elsewhere(const std::shared_ptr<const row_parts>& parts, std::string_view name, const claim_id& id,
                      spi::reply<spi::release_answer> done, deferred_calls& later) {
    later([parts, bound = values{std::string(name), removal_record(id, 0), parts->session},
           done = std::move(done)]() mutable {
        parts->rows->run(parts->dialect.leave, std::move(bound),
                         [done = std::move(done)](const result& answer) mutable {
                             using enum spi::release_answer;
                             done(!answer.how.ok() ? unknown : removal_answer{answer}.others ? taken_over : expired);
                         });
    });
}

}  // namespace

row_claims::row_claims(std::shared_ptr<const row_parts> parts, row_waker_factory make_waker)
    : parts_(std::move(parts)), make_waker_(std::move(make_waker)) {}

void row_claims::start() {
    if (make_waker_)
        waker_ = make_waker_([weak = weak_from_this()](const claim_id& id, std::uint64_t counter) {
            const auto self = weak.lock();
            if (self) counter != 0 ? self->pushed(id, counter) : self->look(id);
        });
}

row_claim_ptr row_claims::known(const claim_id& id) const {
    const auto it = claims_.find(id);
    return it != claims_.end() ? it->second : nullptr;
}

void row_claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    if (!known(wanted.id) && released_.find(wanted.id, parts_->context.clock.now()) != nullptr)
        return later(
            [done = std::move(done)]() mutable { done({.is = claim_is::refused, .reason = errc::cancelled}); });
    row_claim_ptr claim = known(wanted.id);
    if (!claim) claims_.emplace(wanted.id, claim = row_claim::made_for(wanted));
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
    if (claim && claim->name != name) return remove_elsewhere(parts_, name, id, std::move(done), later);
    if (!claim) {  // of another client: whoever made it, its row is to go
        claim = row_claim::of_another(name, id);
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
    const row_claim_ptr claim = known(id);
    if (!claim) return;
    claim->look_due = true;
    run(claim, claim->machine.woken(), later);
}

void row_claims::pushed(const claim_id& id, std::uint64_t counter) {
    if (closed_) return;
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    if (const row_claim_ptr claim = known(id)) granted(claim, counter, waiters_.ungranted_at(*claim), later);
}

// By somebody else's statement, after the time `ungranted`. As if the line was read; a grant whose time cannot be told well enough
// is confirmed by a look.
void row_claims::granted(const row_claim_ptr& claim, std::uint64_t counter, spi::time_point ungranted,
                         deferred_calls& later) {
    const bool ready = claim->machine.is() == phase::waiting && !claim->machine.busy();
    claim->look_due = true;
    const machine::actions next = claim->machine.woken();
    if (!ready || parts_->context.clock.now() - ungranted > claim->trust / 3) return run(claim, next, later);
    const auto read = std::ranges::find(next, action_kind::read, &action::what);
    if (read == next.end()) return run(claim, next, later);
    claim->confirmed = claim->pushed = true;
    claim->told = false;
    claim->counted_from = ungranted;
    const machine::line_view view{
        .verdict = {.is = base::line_verdict::verdict::holds, .capacity = claim->entry.capacity},
        .in_line = true,
        .others = true,
        .counter = counter};
    run(claim, claim->machine.seen(read->ticket, view, parts_->context.clock.now()), later);
}

void row_claims::gone(const claim_id& id) {
    if (closed_) return;
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    if (const row_claim_ptr claim = known(id)) run(claim, claim->machine.vanished(), later);
}

void row_claims::wanted(const claim_id& id) {
    if (closed_) return;
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    if (const row_claim_ptr claim = known(id))
        later([this, claim] { parts_->context.events.wanted(claim->name, claim->entry.id); });
}

// Whoever waits may have missed its turn, or was thought to be dead. Whoever released a claim asks again, and is to be answered then.
void row_claims::reconnected() {
    if (closed_) return;
    deferred_calls later;
    const std::scoped_lock guard{mutex_};
    std::vector<row_claim_ptr> all;
    for (const auto& [id, claim] : claims_) all.push_back(claim);
    for (const row_claim_ptr& claim : all) {
        if (claim->machine.leaves()) continue;
        claim->look_due = true;
        run(claim, claim->machine.retry(), later);
    }
    later([this] { parts_->context.events.reconnected(); });
}

std::vector<claim_id> row_claims::firsts() const {
    const std::scoped_lock guard{mutex_};
    return waiters_.firsts();
}

void row_claims::beaten(const std::vector<claim_id>& asked, const std::vector<claim_id>& due, spi::time_point sent) {
    {
        const std::scoped_lock guard{mutex_};
        const std::unordered_set<claim_id> not_sure{due.begin(), due.end()};
        for (const claim_id& id : asked) {
            const row_claim_ptr claim = known(id);
            if (claim && !not_sure.contains(id)) waiters_.found_waiting(*claim, sent);
        }
    }
    for (const claim_id& id : due) look(id);
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
        case action_kind::stamp:
            return move(claim, what, *line, later);
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
            spi::claim_answer reply = *what.answer_is;
            reply.kept = reply.is == claim_is::busy && claim->behind_keeper;
            if (reply.is != claim_is::granted) return claim->answer(reply, later);
            reply.grant = claim->grant(reply.grant.counter);
            return claim->answer(reply, later);
        }
        case action_kind::granted:
            later([this, claim, grant = claim->grant(what.answer_is->grant.counter)] {
                parts_->context.events.granted(claim->name, claim->entry.id, grant);
            });
            return;
        case action_kind::lost:
            return later([this, claim] { parts_->context.events.lost(claim->name, claim->entry.id); });
        case action_kind::released:
            if (what.released_as != spi::release_answer::unknown)
                released_.add(base::ended_claim::at(now, id, what.released_as), now);
            return claim->answer_release(what.released_as, later);
        case action_kind::watch: {
            waiters_.add(*claim);
            const claim_id before = what.verdict->watch.empty() ? claim_id{} : what.verdict->watch.front();
            claim->before = known(before) ? claim_id{} : before;  // one of ours tells when it leaves who is granted
            if (!waker_ || !waiters_.is_near(*claim)) return;
            if (waker_->watch(waiting(*claim, waiters_))) later([this, id] { look(id); });
            return;
        }
        case action_kind::unwatch:
            waiters_.remove(*claim);
            if (waker_) waker_->unwatch(id);
            return watch_next(claim->name, later);
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
    claim->confirmed = claim->pushed = claim->told = false;
    const statement& how = claim->keeps ? parts_->dialect.enter_keeping : parts_->dialect.enter;
    ask(claim, of, how, enter_values(*parts_, *claim, what.how != where::at_end), later,
        [claim, of, sent = parts_->context.clock.now()](row_claims& self, const result& answer, deferred_calls& after) {
            self.line_read(claim, of, near_rows, answer, sent, after);
        });
}

void row_claims::read(const row_claim_ptr& claim, ticket of, deferred_calls& later) {
    if (!std::exchange(claim->look_due, false) && !claim->read_whole && waiters_.far_back(*claim))
        return run(claim, claim->machine.unchanged(of), later);
    const std::int64_t most = std::exchange(claim->read_whole, false) ? all_rows : near_rows;
    ask(claim, of, parts_->dialect.look, look_values(*parts_, *claim, most), later,
        [claim, of, most, sent = parts_->context.clock.now()](row_claims& self, const result& answer,
                                                              deferred_calls& after) {
            self.line_read(claim, of, most, answer, sent, after);
        });
}

void row_claims::line_read(const row_claim_ptr& claim, ticket of, std::int64_t most, const result& answer,
                           spi::time_point sent, deferred_calls& later) {
    const auto line = row_line::of(answer, most);
    if (!line) return run(claim, claim->machine.failed(of, fate::unsure, not_understood()), later);
    const row_entry* const mine = line->find(claim->entry.id);
    if (mine != nullptr) {
        if (claim->stands != mine->at.stands_at()) waiters_.remove(*claim);
        claim->stands = mine->at.stands_at();
        if (!mine->confirmed) claim->ungranted = sent;
    }
    if (mine != nullptr && mine->confirmed && (!claim->confirmed || claim->pushed)) {
        claim->confirmed = true;
        claim->pushed = false;
        claim->counted_from = sent;
    }
    claim->told = mine != nullptr && mine->kept;
    claim->behind_keeper = mine == nullptr && std::any_of(line->entries.begin(), line->entries.end(),
                                                          [](const row_entry& e) { return e.kept; });
    const auto view = view_of(*claim, *line, [this](const claim_id& id) {
        const row_claim_ptr other = known(id);
        return other && other->machine.leaves();
    });
    if (!view) {
        claim->read_whole = true;
        return run(claim, claim->machine.entered(of), later);
    }
    run(claim, claim->machine.seen(of, *view, parts_->context.clock.now()), later, &*line);
    // A hold that ends soon, unless it is renewed: the next heartbeat might be later.
    const bool is_next = claim->machine.is() == phase::waiting && waiters_.first(claim->name) == claim->entry.id;
    const spi::duration left = first_end_of(*line);
    if (!is_next || left >= push_trust) return;
    spi::clock& clock = parts_->context.clock;
    clock.at(clock.now() + std::max<spi::duration>(left, looks_again_in / 10),
             [weak = weak_from_this(), id = claim->entry.id] {
                 if (const auto self = weak.lock()) self->look(id);
             });
}

// An exchange takes the place of a hold; a claim that is stamped, because an exchange went before it and its number is too small for a
// token, its own. Right only if nothing has changed of what judge() looked at: else the line is read again.
void row_claims::move(const row_claim_ptr& claim, const action& what, const row_line& line, deferred_calls& later) {
    const bool exchanges = what.what == action_kind::exchange;
    const claim_id& place_of = exchanges ? claim->entry.instead_of : claim->entry.id;
    const row_claim_ptr old = exchanges ? known(place_of) : nullptr;
    if (old) old->machine.yield();
    const std::vector<claim_id> guards = exchanges ? what.verdict->guards : std::vector{place_of};
    ask(claim, what.ticket, parts_->dialect.move, move_values(*parts_, *claim, place_of, guards, line), later,
        [claim, of = what.ticket, exchanges, sent = parts_->context.clock.now()](row_claims& self, const result& answer,
                                                                                 deferred_calls& after) {
            const auto counter = static_cast<std::uint64_t>(number_at(answer, 0));
            if (counter == 0) return self.run(claim, claim->machine.changed(of), after);
            claim->confirmed = true;
            claim->pushed = false;
            claim->counted_from = sent;
            self.run(claim, exchanges ? claim->machine.exchanged(of, counter) : claim->machine.stamped(of, counter),
                     after);
        });
}

// Most are confirmed by the statement that found them to hold.
void row_claims::confirm(const row_claim_ptr& claim, ticket of, deferred_calls& later) {
    if (claim->confirmed) return run(claim, claim->machine.confirmed(of), later);
    ask(claim, of, parts_->dialect.confirm, confirm_values(*claim), later,
        [claim, of, sent = parts_->context.clock.now()](row_claims& self, const result& answer, deferred_calls& after) {
            if (number_at(answer, 0) == 0) return self.run(claim, claim->machine.changed(of), after);
            claim->confirmed = true;
            claim->pushed = false;
            claim->counted_from = sent;
            self.run(claim, claim->machine.confirmed(of), after);
        });
}

void row_claims::remove(const row_claim_ptr& claim, const action& what, deferred_calls& later) {
    const std::int64_t mark = what.late ? marked_for.count() : claim->detached ? -remembered_for.count() : 0;
    if (leaving_.add({claim, what.ticket, mark})) send_removals(claim->name, later);
}

void row_claims::send_removals(const std::string& name, deferred_calls& later) {
    std::string records = leaving_.begin(name);
    if (records.empty()) return;
    later([this, bound = values{name, std::move(records), parts_->session}, name,
           sent = parts_->context.clock.now()]() mutable {
        parts_->rows->run(parts_->dialect.leave, std::move(bound),
                          [weak = weak_from_this(), name = std::move(name), sent](const result& answer) {
                              const auto self = weak.lock();
                              if (!self || self->closed_) return;
                              deferred_calls after;
                              const std::scoped_lock guard{self->mutex_};
                              self->removed(name, answer, sent, after);
                          });
    });
}

void row_claims::removed(const std::string& name, const result& answer, spi::time_point asked, deferred_calls& later) {
    const std::vector<row_removals::removal> sent = leaving_.end(name);
    const removal_answer says{answer};
    send_removals(name, later);
    for (std::size_t i = 0; i < sent.size(); ++i) {
        const auto& [claim, of, mark] = sent[i];
        if (!answer.how.ok()) {
            run(claim, claim->machine.failed(of, fate_of(answer.how), answer_of(answer.how)), later);
            continue;
        }
        claim->confirmed = claim->pushed = false;
        run(claim,
            claim->machine.removed(
                of, {.was_there = says.was_there(i), .took_place = says.took_place(i), .others = says.others}),
            later);
    }
    for (const auto& [id, counter] : says.granted) {
        const row_claim_ptr claim = known(id);
        if (!claim) continue;
        if (claim->entry.capacity == 1) waiters_.found_waiting(*claim, asked);  // and what is behind it was not granted
        granted(claim, counter, asked, later);
    }
}

// Of a name the waker watches the first claims only. Who shares a lock may have been granted it together with the one before.
void row_claims::watch_next(const std::string& name, deferred_calls& later) {
    if (!waker_) return;
    const auto first = waiters_.first(name);
    for (const claim_id& id : waiters_.nearest(name)) {
        const row_claim_ptr claim = known(id);
        if (!claim || !waker_->watch(waiting(*claim, waiters_))) continue;
        if (id == first || claim->entry.capacity > 1) later([this, id] { look(id); });
    }
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
    row_removals unanswered;  // who released them is told no more, and keeps nothing
    {
        const std::scoped_lock guard{mutex_};
        all.swap(claims_);
        std::swap(unanswered, leaving_);
    }
    const auto open = std::make_shared<std::atomic<std::size_t>>(0);
    connection& line = parts_->rows->line();
    if (line.up()) {
        std::unordered_map<std::string, std::string> records;
        for (const auto& [id, claim] : all)
            if (!claim->detached) records[claim->name] += removal_record(id, 0);
        for (auto& [name, some] : records) {
            ++*open;
            parts_->rows->run(parts_->dialect.leave, {name, std::move(some), parts_->session},
                              [open](const result&) { --*open; });
        }
        line.serve(last_wait, [&] { return *open == 0; });
    }
}

}  // namespace mortise::inline v0::stores::sql
