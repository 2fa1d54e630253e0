// How a claim becomes a hold, and how it ends before that. See desk.hpp for the picture.
#include "base/kinds.hpp"
#include "stores/etcd/answers.hpp"
#include "stores/etcd/desk.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using claim_verdict = spi::claim_answer::verdict;

}  // namespace

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
    bool told = false;
    {
        std::scoped_lock guard{mutex_};
        on = who->on;
        told = who->is == claim_record::phase::held;
    }
    if (!on) return done ? done({.is = claim_verdict::unknown, .reason = errc::unreachable}) : void();
    const lease_book::terms known = leases_->terms_of(*on);
    const spi::duration age = around_.clock.now() - known.proven;
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
            who->was_held = true;
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
    bool mark = false;
    std::int64_t on = 0;
    {
        std::scoped_lock guard{mutex_};
        exchanging = who->exchanging;
        if (exchanging && done)
            who->asked_meanwhile.push_back(std::move(done));
        else if (!exchanging)
            who->withdrawing = true;
        mark = who->may_come_back();
        if (mark) on = who->on->id;
    }
    if (exchanging) return;
    cluster_->ask(method::txn, leave_request(who->at, who->slot ? who->mine.value() : std::string{}, mark, on),
                  how_.timeout,
                  [self = shared_from_this(), who, mark, then = std::move(then), done = std::move(done)](
                      const outcome& said, const std::string&) mutable {
                      if (mark && (said.ok() || said.no_lease)) self->kept_out(who);
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

// Nothing of it is left that we should know, but for a request that may still arrive: the core releases such a claim, and
// then it is kept out.
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
        if (const auto tail = tails_.find(who->name); tail != tails_.end() && tail->second.lock() == who)
            tails_.erase(tail);
        const auto it = claims_.find(who->id);
        if (it != claims_.end() && it->second == who && !who->may_come_back()) claims_.erase(it);
    }
    for (const watcher::number each : watches) watcher_->cancel(each);
    if (who->own_lease && on) leases_->keep_on(on, false);
}

spi::standing desk::standing_of(const line& found, const base::line_verdict& judged) {
    spi::standing now;
    if (judged.place > 0) now.place = judged.place;
    const auto note = [&](const entry& one) {
        if (judged.holder && one.at.id == *judged.holder) now.holder = holder_of(one);
    };
    std::ranges::for_each(found.entries, note);
    if (found.first) note(*found.first);
    return now;
}

spi::claim_answer desk::of_another_kind(const claim_record& who, const base::line_verdict& judged) {
    return {.is = spi::claim_answer::verdict::refused,
            .reason = errc::kind_mismatch,
            .detail = base::disagreement(judged.capacity, who.mine.at.capacity)};
}

// etcd keeps no times, so nobody knows for how long.
mortise::holder desk::holder_of(const entry& who) {
    return {.host = who.host, .pid = who.pid, .label = who.label, .token = token::of(who.at.counter(), 0)};
}

}  // namespace mortise::inline v0::stores::etcd
