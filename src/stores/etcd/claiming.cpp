// How a claim gets into its line, and to the front of it. See desk.hpp for the picture.
#include "stores/etcd/desk.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using claim_verdict = spi::claim_answer::verdict;

// A lock that is fought over changes between reading and writing. After so many times, whoever asks decides.
constexpr int most_tries = 8;

// How long a claim of ours takes to leave, more or less.
constexpr std::chrono::milliseconds leaves_in{10};
constexpr std::chrono::milliseconds longest_leave{2000};

// How soon one that is next looks again while its watch is young, and how soon one that is near. See lookouts.hpp.
constexpr std::chrono::milliseconds next_looks{10};
constexpr std::chrono::milliseconds near_looks{25};
constexpr std::size_t near_place = 16;

spi::claim_answer answer_of(const outcome& failed) {
    return {.is = failed.is == outcome::verdict::refused ? claim_verdict::refused : claim_verdict::unknown,
            .reason = failed.reason,
            .detail = failed.detail};
}

spi::claim_answer not_understood() {
    return {.is = claim_verdict::unknown, .reason = errc::unreachable, .detail = "an answer of etcd could not be read"};
}

}  // namespace

// The least number that is free.
unsigned desk::take_slot(const std::string& name) {
    std::set<unsigned>& taken = slots_[name];
    unsigned n = 0;
    for (const unsigned each : taken)
        if (each == n) ++n;
    taken.insert(n);
    return n;
}

desk::record desk::record_of(const spi::claim_request& wanted) {
    std::scoped_lock guard{mutex_};
    record& known = claims_[wanted.id];
    if (!known) {
        known = std::make_shared<claim_record>();
        known->name = wanted.name;
        known->id = wanted.id;
        known->line_id = line_id_of(wanted.id);
        known->at = place_of(wanted.name, wanted.id);
        known->life = wanted.lease.value_or(std::chrono::seconds{30});
        known->renewed = wanted.renew == renew::on;
        known->detached = wanted.kept_by == kept_by::lease;
        known->own_lease = !known->renewed || known->detached || !keys_.native();
        if (keys_.native() && !known->detached) {
            known->slot = take_slot(known->name);
            known->at.key = keys_.key_of(known->name, me_, *known->slot);
        }
        known->mine = {.at = {.id = known->line_id,
                              .capacity = wanted.capacity,
                              .weight = wanted.weight,
                              .instead_of = wanted.instead_of},
                       .own_lease = known->own_lease,
                       .detached = known->detached,
                       .pid = around_.pid,
                       .host = around_.host,
                       .label = std::string(wanted.label)};
    }
    known->queue = wanted.queue;
    return known;
}

void desk::claim(const spi::claim_request& wanted, claimed done) {
    if (remembered(wanted.name, wanted.id)) return done({.is = claim_verdict::refused, .reason = errc::cancelled});
    enter(record_of(wanted), std::move(done));
}

void desk::enter(const record& who, claimed done) {
    bool in_line = false;
    bool has_lease = false;
    bool queue = false;
    {
        std::scoped_lock guard{mutex_};
        in_line = who->entered;
        has_lease = who->on != nullptr;
        queue = who->queue;
        // The first request is answered. One more would only keep etcd from answering the others.
        if (!in_line && queue && who->entering > 0) return;
    }
    if (in_line) return look(who, extent::near, std::move(done));
    if (who->mine.at.to_be_exchanged()) return with_lease(who, entering::anyhow, 0, std::move(done));
    if (who->own_lease && !has_lease && !queue) return look_before_entering(who, 1, std::move(done));
    with_lease(who, queue ? entering::anyhow : entering::if_empty, 0, std::move(done));
}

// A lease of its own is not worth the trouble if somebody else holds the lock.
void desk::look_before_entering(const record& who, int tries, claimed done) {
    cluster_->ask(method::txn, read_request(who->at.folder), how_.timeout,
                  [self = shared_from_this(), who, tries, done = std::move(done)](const outcome& said,
                                                                                  const std::string& bytes) mutable {
                      const txn_said read = said.ok() ? read_txn(self->keys_, who->at.folder, bytes) : txn_said{};
                      if (!read.found) return done(said.ok() ? not_understood() : answer_of(said));
                      self->try_to_enter(who, *read.found, tries, std::move(done));
                  });
}

void desk::with_lease(const record& who, entering how, std::int64_t read_at, claimed done) {
    bool ready = false;
    {
        std::scoped_lock guard{mutex_};
        ready = who->on != nullptr;
    }
    if (ready) return send_entry(who, how, read_at, 0, std::move(done));
    auto then = [self = shared_from_this(), who, how, read_at, done = std::move(done)](
                    const outcome& said, const std::shared_ptr<lease>& given) mutable {
        if (!said.ok()) return done(answer_of(said));
        {
            std::scoped_lock guard{self->mutex_};
            if (!who->on) who->on = given;
        }
        self->send_entry(who, how, read_at, 0, std::move(done));
    };
    if (who->own_lease) return leases_->own(lease_of(who->id), who->life, std::move(then));
    leases_->share(who->life, std::move(then));
}

void desk::send_entry(const record& who, entering how, std::int64_t read_at, int tries, claimed done) {
    std::shared_ptr<lease> on;
    {
        std::scoped_lock guard{mutex_};
        on = who->on;
        if (who->is != claim_record::phase::over && on)
            ++who->entering;
        else
            on.reset();
    }
    if (!on) return done({.is = claim_verdict::refused, .reason = errc::cancelled});  // released meanwhile
    cluster_->ask(
        method::txn, enter_request(who->at, who->mine.value(), on->id, how, read_at), how_.timeout,
        [self = shared_from_this(), who, on, tries, done = std::move(done)](const outcome& said,
                                                                            const std::string& bytes) mutable {
            txn_said read;
            if (said.ok()) read = read_txn(self->keys_, who->at.folder, bytes);
            const bool understood = read.read && read.found;
            const bool in_line = understood && read.found->find(who->line_id) != nullptr;
            bool over = false;
            {
                std::scoped_lock guard{self->mutex_};
                --who->entering;
                if (said.is == outcome::verdict::unknown || (said.ok() && !understood)) who->in_doubt = true;
                if (in_line) who->entered = true;
                over = who->is == claim_record::phase::over;
                if (said.no_lease && who->on == on) who->on.reset();
            }
            if (over) return done({.is = claim_verdict::refused, .reason = errc::cancelled});
            if (said.no_lease) {  // it has ended: with another one, then
                self->leases_->forget(on);
                return done(
                    {.is = claim_verdict::unknown, .reason = errc::unreachable, .detail = "its lease has ended"});
            }
            if (!said.ok()) {
                if (said.is == outcome::verdict::refused && !who->in_doubt) self->drop(who);
                return done(answer_of(said));
            }
            if (!understood) return done(not_understood());
            if (in_line) return self->conclude(who, *read.found, std::move(done));
            if (who->queue || who->mine.at.to_be_exchanged())  // marked as gone
                return done({.is = claim_verdict::refused, .reason = errc::cancelled});
            self->try_to_enter(who, *read.found, tries + 1, std::move(done));
        });
}

// Claims of this client that are on their way out, and would not be in the way otherwise: a caller that gave up waiting may try
// again at once.
bool desk::only_we_are_in_the_way(const record& who, const line& found) {
    std::vector<base::line_entry> shape;
    {
        std::scoped_lock guard{mutex_};
        if (++who->waited_for_ourselves > longest_leave / leaves_in) return false;
        for (const entry& one : found.entries) {
            const auto ours = claims_.find(one.at.id);
            const bool leaving = ours != claims_.end() && ours->second->is == claim_record::phase::over;
            const bool left = ended_.contains({one.at.id, who->name});  // since this was read
            if (!leaving && !left) shape.push_back(one.at);
        }
    }
    base::line_entry mine = who->mine.at;
    mine.arrived = mine.written = std::numeric_limits<std::int64_t>::max();
    shape.push_back(mine);
    return base::judge(shape, mine.id, 0).is == base::line_verdict::verdict::holds;
}

// Would it hold at the end of this line? Then it enters, if nobody else has.
void desk::try_to_enter(const record& who, const line& found, int tries, claimed done) {
    auto shape = found.shape();
    base::line_entry mine = who->mine.at;
    mine.arrived = mine.written = std::numeric_limits<std::int64_t>::max();
    shape.push_back(mine);
    const base::line_verdict judged = base::judge(shape, mine.id, 0);
    using is = base::line_verdict::verdict;
    bool leased = false;
    {
        std::scoped_lock guard{mutex_};
        leased = who->on != nullptr;
    }
    if (judged.is == is::holds && !leased) return with_lease(who, entering::if_same, found.revision, std::move(done));
    if (judged.is == is::holds && tries < most_tries)
        return send_entry(who, entering::if_same, found.revision, tries, std::move(done));
    if (judged.is == is::holds)
        return done({.is = claim_verdict::unknown, .reason = errc::busy, .detail = "it is fought over"});
    if (judged.is == is::waits && only_we_are_in_the_way(who, found)) {
        around_.clock.at(
            around_.clock.now() + leaves_in, [weak = weak_from_this(), who, tries, done = std::move(done)]() mutable {
                if (const auto self = weak.lock())
                    self->cluster_->guarded([&] { self->look_before_entering(who, tries, std::move(done)); });
            });
        return;
    }
    spi::claim_answer no{.is = claim_verdict::busy, .standing = standing_of(found, judged)};
    if (judged.is == is::other_kind) no = {.is = claim_verdict::refused, .reason = errc::kind_mismatch};
    if (leased && who->own_lease) return withdraw(who, std::move(no), std::move(done));
    drop(who);
    done(std::move(no));
}

// Reads the line once more. `done` may be empty: then a push tells what has changed.
void desk::look(const record& who, extent how_much, claimed done) {
    std::uint64_t up_to = 0;
    if (how_much == extent::near) {
        std::scoped_lock guard{mutex_};
        up_to = who->arrived;
    }
    std::string request =
        up_to != 0 ? read_end_request(who->at.folder, up_to, static_cast<bool>(done)) : read_request(who->at.folder);
    cluster_->ask(method::txn, std::move(request), how_.timeout,
                  [self = shared_from_this(), who, part = up_to != 0, done = std::move(done)](
                      const outcome& said, const std::string& bytes) mutable {
                      bool again = false;
                      bool over = false;
                      {
                          std::scoped_lock guard{self->mutex_};
                          if (!done) {
                              who->looking = false;
                              again = std::exchange(who->look_again, false);
                          }
                          over = who->is == claim_record::phase::over;
                      }
                      if (over) return done ? done({.is = claim_verdict::refused, .reason = errc::cancelled}) : void();
                      txn_said read;
                      if (said.ok()) read = read_txn(self->keys_, who->at.folder, bytes);
                      if (!read.found) {
                          if (done) return done(said.ok() ? not_understood() : answer_of(said));
                          return self->look_soon(who);
                      }
                      if (again) self->woken(who);
                      read.found->missing_after = part;
                      if (read.found->find(who->line_id) != nullptr)
                          return self->conclude(who, *read.found, std::move(done));
                      if (part) return self->look(who, extent::whole, std::move(done));  // it may have come again
                      if (!done) return self->thrown_out(who);
                      {
                          std::scoped_lock guard{self->mutex_};
                          if (who->is == claim_record::phase::held) who->is = claim_record::phase::asking;
                          who->entered = false;
                          who->mine.at.place = 0;  // it has nobody's place any more
                          who->mine.at.stamped = false;
                      }
                      self->enter(who, std::move(done));
                  });
}

// Not answered: the core will ask, but it need not wait so long.
void desk::look_soon(const record& who) {
    around_.clock.at(around_.clock.now() + std::chrono::milliseconds{50}, [weak = weak_from_this(), who] {
        if (const auto self = weak.lock()) self->cluster_->guarded([&] { self->woken(who); });
    });
}

void desk::conclude(const record& who, const line& found, claimed done) {
    using is = base::line_verdict::verdict;
    const entry& mine = *found.find(who->line_id);
    bool as_we_think = false;
    bool told = false;
    {
        std::scoped_lock guard{mutex_};
        who->seen_at = found.revision;
        who->arrived = mine.at.arrived;
        who->floor_seen |= found.floor != 0;
        as_we_think = who->on && who->on->id == mine.lease;
        told = who->is == claim_record::phase::held;
        if (!who->exchanging) {
            who->mine.at.place = mine.at.place;
            who->mine.at.stamped = mine.at.stamped;
        }
    }
    if (mine.at.place != 0) replaced(who);
    if (!as_we_think)  // on an earlier lease, of which we do not know how long it lasts
        return withdraw(who,
                        {.is = claim_verdict::unknown, .reason = errc::unreachable, .detail = "its lease has ended"},
                        std::move(done));
    const std::optional<base::line_verdict> known = found.judge(who->line_id);
    if (!known) return look(who, extent::whole, std::move(done));
    const base::line_verdict& judged = *known;
    switch (judged.is) {
        case is::holds:
            if (judged.to_be_stamped && !told) return stamp(who, found, std::move(done));
            return grant(who, mine.at.counter(), std::move(done));
        case is::may_exchange:
            return exchange(who, found, judged, std::move(done));
        case is::waits:
            not_replaced(who);
            if (who->queue) return wait_in(who, found, judged, std::move(done));
            return withdraw(who, {.is = claim_verdict::busy, .standing = standing_of(found, judged)}, std::move(done));
        case is::other_kind:
            return withdraw(who, {.is = claim_verdict::refused, .reason = errc::kind_mismatch}, std::move(done));
        default:
            not_replaced(who);
            return withdraw(who,
                            {.is = claim_verdict::refused,
                             .reason = judged.is == is::would_deadlock ? errc::would_deadlock : errc::lost},
                            std::move(done));
    }
}

void desk::wait_in(const record& who, const line& found, const base::line_verdict& judged, claimed done) {
    using phase = claim_record::phase;
    std::vector<watcher::number> before;
    std::shared_ptr<lease> on;
    bool first = false;
    bool same = false;
    {
        std::scoped_lock guard{mutex_};
        on = who->on;
        if (who->is == phase::held || who->is == phase::over) {  // another look knows better
            on.reset();
        } else {
            first = std::exchange(who->is, phase::waiting) != phase::waiting;
            same = !first && who->watched == judged.watch;
            if (!same) {
                before = std::exchange(who->watches, {});
                who->watched = judged.watch;
            }
        }
    }
    if (!on) return done ? done({.is = claim_verdict::unknown}) : void();
    if (first && who->own_lease) leases_->keep_on(on, true);
    if (!same) watch_for(who, found, judged);
    for (const watcher::number each : before) watcher_->cancel(each);
    if (done) done({.is = claim_verdict::queued, .standing = standing_of(found, judged)});
}

// Looks again when one of them has gone.
void desk::watch_for(const record& who, const line& found, const base::line_verdict& judged) {
    const auto gone = [weak = weak_from_this(), who] {
        const auto self = weak.lock();
        if (!self) return;
        {
            std::scoped_lock guard{self->mutex_};
            who->watched.clear();
        }
        self->woken(who);
    };
    // Whoever is far back has time until etcd serves what begins in the past, and need not read the line twice.
    const bool is_near = judged.place >= 1 && judged.place <= near_place;
    const auto begins = is_near ? watcher::begins::now : watcher::begins::there;
    const spi::duration again = judged.place == 1 ? next_looks : is_near ? near_looks : spi::duration{};
    for (const claim_id& id : judged.watch) {
        const entry* one = found.find(id);
        if (one == nullptr) continue;
        const watcher::number made = watcher_->watch(one->key, found.revision, begins, again, gone);
        bool late = false;
        {
            std::scoped_lock guard{mutex_};
            late = who->is != claim_record::phase::waiting;
            if (!late) who->watches.push_back(made);
        }
        if (late) watcher_->cancel(made);
    }
}

// One of those it waits for has left: not before everything was read again does it know.
void desk::woken(const record& who) {
    {
        std::scoped_lock guard{mutex_};
        if (who->is != claim_record::phase::waiting) return;
        if (who->looking) {
            who->look_again = true;
            return;
        }
        who->looking = true;
    }
    look(who, extent::near, {});
}

// Its key has gone, and not by us: the lease has ended, or somebody took it away.
void desk::thrown_out(const record& who) {
    {
        std::scoped_lock guard{mutex_};
        if (who->is == claim_record::phase::over) return;
    }
    drop(who);
    around_.events.lost(who->name, who->id);
}

// The time of a lease that nobody renews begins with the grant, and so does that of one which was kept long ago.
void desk::grant(const record& who, std::uint64_t counter, claimed done) {
    std::shared_ptr<lease> on;
    {
        std::scoped_lock guard{mutex_};
        on = who->on;
    }
    if (!on) return done ? done({.is = claim_verdict::unknown, .reason = errc::unreachable}) : void();
    const lease_book::terms known = leases_->terms_of(*on);
    const spi::duration age = around_.clock.now() - known.proven;
    bool told = false;
    {
        std::scoped_lock guard{mutex_};
        told = who->is == claim_record::phase::held;
    }
    if (told || age < (who->renewed ? known.life / 2 : known.life / 20)) return granted(who, counter, std::move(done));
    leases_->keep(on, [self = shared_from_this(), who, counter, done = std::move(done)](lease_book::answer is) mutable {
        if (is == lease_book::answer::alive) return self->granted(who, counter, std::move(done));
        if (done)
            return done(
                {.is = claim_verdict::unknown, .reason = errc::unreachable, .detail = "its lease was not confirmed"});
        self->woken(who);
    });
}

void desk::granted(const record& who, std::uint64_t counter, claimed done) {
    std::vector<watcher::number> watches;
    bool soon = false;
    bool stop_keeping = false;
    std::shared_ptr<lease> on;
    {
        std::scoped_lock guard{mutex_};
        on = who->on;
        if (who->is == claim_record::phase::over || !on) return;
        stop_keeping = who->is == claim_record::phase::waiting && who->own_lease && !who->renewed;
        if (who->is != claim_record::phase::held) {
            who->is = claim_record::phase::held;
            unwatched_.push_back(who);
            soon = !std::exchange(watching_soon_, true);
            watches = std::exchange(who->watches, {});
        }
    }
    for (const watcher::number each : watches) watcher_->cancel(each);
    if (stop_keeping) leases_->keep_on(on, false);
    if (soon) watch_holds_soon();
    const lease_book::terms terms = leases_->terms_of(*on);
    const spi::grant given{.counter = counter, .lease = terms.life, .counted_from = terms.proven};
    if (done) return done({.is = spi::claim_answer::verdict::granted, .grant = given});
    around_.events.granted(who->name, who->id, given);
}

// Out of the line again, and answered only then.
void desk::withdraw(const record& who, spi::claim_answer then, claimed done) {
    bool exchanging = false;
    {
        std::scoped_lock guard{mutex_};
        exchanging = who->exchanging;
        if (exchanging && done)
            who->asked_meanwhile.push_back(std::move(done));
        else if (!exchanging)
            who->withdrawing = true;
    }
    if (exchanging) return;
    cluster_->ask(method::txn, leave_request(who->at, who->slot ? who->mine.value() : std::string{}, false, 0),
                  how_.timeout,
                  [self = shared_from_this(), who, then = std::move(then), done = std::move(done)](
                      const outcome& said, const std::string&) mutable {
                      if (!said.ok()) {
                          std::unique_lock held{self->mutex_};
                          who->withdrawing = false;
                          held.unlock();
                          return done ? done(answer_of(said)) : void();
                      }
                      self->drop(who);
                      auto end = [self, who, then = std::move(then), done = std::move(done)](const outcome&) mutable {
                          if (done) return done(std::move(then));
                          self->around_.events.lost(who->name, who->id);
                      };
                      // Before it is answered, since the same claim may come again, and with it the same lease.
                      if (who->own_lease) return self->leases_->revoke(lease_of(who->id), std::move(end));
                      end({});
                  });
}

// Nothing of it is left that we should know.
void desk::drop(const record& who) {
    std::vector<watcher::number> watches;
    std::shared_ptr<lease> on;
    {
        std::scoped_lock guard{mutex_};
        who->is = claim_record::phase::over;
        on = who->on;
        // What is in doubt may still arrive, and must not meet somebody else.
        if (who->slot && who->entering == 0 && !who->in_doubt && !who->leave_in_doubt && !who->leaving) {
            const auto taken = slots_.find(who->name);
            taken->second.erase(*who->slot);
            if (taken->second.empty()) slots_.erase(taken);
            who->slot.reset();
        }
        watches = std::exchange(who->watches, {});
        if (const auto it = claims_.find(who->id); it != claims_.end() && it->second == who) claims_.erase(it);
    }
    for (const watcher::number each : watches) watcher_->cancel(each);
    if (who->own_lease && on) leases_->keep_on(on, false);
}

spi::standing desk::standing_of(const line& found, const base::line_verdict& judged) {
    spi::standing now;
    if (judged.place > 0) now.place = judged.place;
    const auto note = [&](const entry& one) {
        mortise::holder who = holder_of(one);  // all are noted, also those that wait
        if (judged.holder && one.at.id == *judged.holder) now.holder = std::move(who);
    };
    std::ranges::for_each(found.entries, note);
    if (found.first) note(*found.first);
    return now;
}

// etcd keeps no times. How long a claim has been there is known only as far as we have seen it.
mortise::holder desk::holder_of(const entry& who) {
    constexpr std::size_t most_seen = 10'000;
    const spi::time_point now = around_.clock.now();
    spi::time_point since = now;
    {
        std::scoped_lock guard{mutex_};
        if (seen_.size() > most_seen) seen_.clear();
        since = seen_.try_emplace(who.at.id, now).first->second;
    }
    return {.host = who.host,
            .pid = who.pid,
            .label = who.label,
            .held_for = now - since,
            .token = token::of(who.at.counter(), 0)};
}

}  // namespace mortise::inline v0::stores::etcd
