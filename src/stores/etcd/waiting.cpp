// How a claim gets to the front of its line. See desk.hpp for the picture.
#include "stores/etcd/answers.hpp"
#include "stores/etcd/desk.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using claim_verdict = spi::claim_answer::verdict;

// How soon one that is next looks again while its watch is young, and how soon one that is near. See lookouts.hpp.
constexpr std::chrono::milliseconds next_looks{10};
constexpr std::chrono::milliseconds near_looks{25};
constexpr std::size_t near_place = 16;

// So many are seen at a glance.
constexpr std::size_t a_few = 16;

// For etcd, to read a part of a line is as much work as to read all of it. So long is what was read of a long one good enough to
// tell who holds.
constexpr std::chrono::minutes read_again_after{5};
}  // namespace

// The core asks whether anything has changed. In a long line it has not while the claim and those it waits for are there.
void desk::peek(const record& who, claimed done) {
    std::vector<claim_record::neighbour> before;
    std::vector<std::string> keys;
    {
        std::scoped_lock guard{mutex_};
        if (who->is == claim_record::phase::waiting && around_.clock.now() - who->read_at < read_again_after)
            before = who->neighbours;
        if (!before.empty()) ++who->asked_looks;
    }
    if (before.empty()) return look(who, extent::near, std::move(done));
    for (const auto& one : before) keys.push_back(one.key);
    cluster_->ask_in_turn(method::txn, while_wanted(who, peek_request(keys)), how_.timeout,
                          [self = shared_from_this(), who, before = std::move(before), done = std::move(done)](
                              const outcome& said, const std::string& bytes) mutable {
                              spi::standing now;
                              const auto created = said.ok() ? read_peek(bytes) : std::vector<std::uint64_t>{};
                              const bool same =
                                  std::ranges::equal(created, before, {}, {}, &claim_record::neighbour::created);
                              bool waits = false;
                              {
                                  std::scoped_lock guard{self->mutex_};
                                  --who->asked_looks;
                                  waits = who->is == claim_record::phase::waiting;
                                  now = who->standing;
                              }
                              if (!said.ok()) return done(answer_of(said));
                              if (!same || !waits) return self->look(who, extent::near, std::move(done));
                              done({.is = claim_verdict::queued, .standing = std::move(now)});
                          });
}

// Reads the line once more. `done` may be empty: then a push tells what has changed.
void desk::look(const record& who, extent how_much, claimed done) {
    std::uint64_t up_to = 0;
    {
        std::scoped_lock guard{mutex_};
        if (how_much == extent::near) up_to = who->arrived;
        if (done) ++who->asked_looks;
    }
    std::string request =
        up_to != 0 ? read_end_request(who->at.folder, up_to, static_cast<bool>(done)) : read_request(who->at.folder);
    cluster_->ask_in_turn(method::txn, while_wanted(who, std::move(request)), how_.timeout,
                          [self = shared_from_this(), who, part = up_to != 0, done = std::move(done)](
                              const outcome& said, const std::string& bytes) mutable {
                              txn_said read;
                              if (said.ok()) read = read_txn(self->keys_, who->at.folder, bytes);
                              if (read.found) read.found->missing_after = part;
                              self->looked(who, said, std::move(read.found), std::move(done));
                          });
}

void desk::looked(const record& who, const outcome& said, std::optional<line> found, claimed done) {
    bool again = false;
    bool over = false;
    {
        std::scoped_lock guard{mutex_};
        if (done) {
            --who->asked_looks;
        } else {
            who->looking = false;
            again = std::exchange(who->look_again, false);
        }
        over = who->is == claim_record::phase::over;
    }
    if (over) return done ? done({.is = claim_verdict::refused, .reason = errc::cancelled}) : void();
    if (!found) {
        if (done) return done(said.ok() ? not_understood() : answer_of(said));
        return look_soon(who);
    }
    if (again) woken(who);
    if (found->find(who->line_id) != nullptr) return conclude(who, *found, std::move(done));
    if (found->missing_after) return look(who, extent::whole, std::move(done));  // it may have come again
    if (!done) return thrown_out(who);
    {
        std::scoped_lock guard{mutex_};
        if (who->is == claim_record::phase::held) who->is = claim_record::phase::asking;
        who->entered = false;
        who->seen_at = found->revision;
        who->mine.at.place = 0;  // it has nobody's place any more
        who->mine.at.stamped = false;
    }
    enter(who, std::move(done));
}

// The member that told it knows already, so it need not ask the others whether this is the newest. Once a claim that admits no
// other holds, it holds for as long as its key is there; so an old answer can only say too late that it does. A key that went
// and came again has lost its place: what is older than that is not believed. For all else, and if it does not hold, the
// line is read as it is now.
void desk::glance(const record& who) {
    cluster_->ask_in_turn(method::txn, while_wanted(who, glance_request(who->at.folder)), how_.timeout,
                          [self = shared_from_this(), who](const outcome& said, const std::string& bytes) {
                              txn_said read;
                              if (said.ok()) read = read_txn(self->keys_, who->at.folder, bytes);
                              std::int64_t seen_at = 0;
                              {
                                  std::scoped_lock guard{self->mutex_};
                                  seen_at = who->seen_at;
                              }
                              if (read.found && read.found->says_that_it_holds(who->line_id, seen_at))
                                  return self->looked(who, said, std::move(read.found), {});
                              self->look(who, extent::near, {});
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
        if (found.floor != 0) floors_.insert(who->name);
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
            return withdraw(who, of_another_kind(*who, judged), std::move(done));
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
            who->few_wait = found.entries.size() <= a_few && !found.missing_before;
            same = !first && who->watched == judged.watch;
            if (!same) {
                before = std::exchange(who->watches, {});
                who->watched = judged.watch;
            }
        }
    }
    if (!on) return done ? done({.is = claim_verdict::unknown}) : void();
    note_neighbours(who, found, judged);
    if (first && who->own_lease) leases_->keep_on(on, true);
    if (!same) watch_for(who, found, judged);
    for (const watcher::number each : before) watcher_->cancel(each);
    if (!done) return;
    spi::standing now = standing_of(found, judged);
    if (!now.holder && found.missing_before) {
        std::scoped_lock guard{mutex_};
        now.holder = who->standing.holder;
    }
    done({.is = claim_verdict::queued, .standing = std::move(now)});
}

// What is read of a long line is kept, so that it need not be read often.
void desk::note_neighbours(const record& who, const line& found, const base::line_verdict& judged) {
    spi::standing now = standing_of(found, judged);
    std::scoped_lock guard{mutex_};
    who->neighbours.clear();
    if (!found.missing_before) return;
    who->neighbours.push_back({who->at.key, who->arrived});
    for (const claim_id& id : judged.watch)
        if (const entry* one = found.find(id)) who->neighbours.push_back({one->key, one->at.arrived});
    const auto last = tails_[who->name].lock();
    if (!now.holder && last) now.holder = last->standing.holder;
    who->standing = std::move(now);
    who->read_at = around_.clock.now();
    if (!last || last->is != claim_record::phase::waiting || last->arrived < who->arrived) tails_[who->name] = who;
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
        add_watch(who, claim_record::phase::waiting, made);
    }
}

// Unless it has gone on meanwhile.
void desk::add_watch(const record& who, claim_record::phase while_it_is, watcher::number made) {
    {
        std::scoped_lock guard{mutex_};
        if (who->is == while_it_is) return who->watches.push_back(made);
    }
    watcher_->cancel(made);
}

// One of those it waits for has left: not before everything was read again does it know.
void desk::woken(const record& who) {
    bool at_a_glance = false;
    {
        std::scoped_lock guard{mutex_};
        if (who->is != claim_record::phase::waiting) return;
        if (who->looking) {
            who->look_again = true;
            return;
        }
        who->looking = true;
        at_a_glance = who->few_wait && who->mine.at.weight == who->mine.at.capacity;
    }
    if (at_a_glance) return glance(who);
    look(who, extent::near, {});
}
}  // namespace mortise::inline v0::stores::etcd
