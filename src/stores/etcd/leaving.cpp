// How claims leave their line. See desk.hpp for the picture.
#include "stores/etcd/desk.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::seconds;
using release_is = spi::release_answer;

// How long an ended claim is remembered, and how often it is asked whether a retired lease is still in use.
constexpr seconds remembered_for{10};
constexpr seconds retired_for{10};
constexpr seconds before_another_try{1};

// Releases on their way at a time.
constexpr std::size_t most_under_way = 64;

}  // namespace

// A crowd that gives up at once would be too many requests for etcd. Few are on their way at a time; what comes meanwhile
// waits, and then leaves together.
void desk::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    if (const auto before = remembered(name, id)) return done(*before);
    record who;
    std::vector<watcher::number> watches;
    {
        std::scoped_lock guard{mutex_};
        if (const auto it = claims_.find(id); it != claims_.end() && it->second->name == name) who = it->second;
        // Its claim may be on its way here, from another thread. It comes too late.
        if (!who)
            ended_.try_emplace({id, std::string(name)},
                               ended_claim{std::nullopt, around_.clock.now() + remembered_for});
        if (who) {
            who->is = claim_record::phase::over;
            watches = std::exchange(who->watches, {});
            // The first is answered. One more would only keep etcd from answering the others.
            if (!std::exchange(who->releasing, true))
                releases_.push_back({.name = who->name, .id = id, .who = who, .done = std::move(done)});
        }
    }
    for (const watcher::number each : watches) watcher_->cancel(each);
    if (!who) return leave(name, id, nullptr, false, std::move(done));
    send_releases();
}

void desk::send_releases() {
    std::vector<pending_release> together;
    std::vector<pending_release> alone;
    {
        std::scoped_lock guard{mutex_};
        if (releases_.empty() || releases_under_way_ == most_under_way) return;
        ++releases_under_way_;
        for (std::size_t n = std::min(releases_.size(), most_together_); n > 0; --n) {
            (may_leave_in_company(*releases_.front().who) ? together : alone).push_back(std::move(releases_.front()));
            releases_.pop_front();
        }
    }
    const auto left = std::make_shared<std::atomic<std::size_t>>(together.size() + alone.size());
    for (auto* some : {&together, &alone})
        for (pending_release& one : *some)
            one.done = [self = shared_from_this(), left, who = one.who,
                        done = std::move(one.done)](release_is said) mutable {
                {
                    std::scoped_lock guard{self->mutex_};
                    who->releasing = false;
                    if (left->fetch_sub(1) == 1) --self->releases_under_way_;
                }
                done(said);
                self->send_releases();
            };
    if (together.size() > 1)
        leave_together(std::move(together));
    else
        std::ranges::move(together, std::back_inserter(alone));
    for (pending_release& one : alone) leave_alone(std::move(one));
}

// Its key may be deleted without a look at it. With the mutex held.
bool desk::may_leave_in_company(const claim_record& who) const {
    if (!who.slot || who.leaving || (who.was_held && who.leave_in_doubt)) return false;
    return who.may_come_back() ? !who.was_held : who.entered;
}

void desk::leave_alone(pending_release one) {
    const record who = one.who;
    bool mark = false;
    bool simple = false;  // its key is there and nothing of it is on its way
    bool unknown_there = false;
    {
        std::scoped_lock guard{mutex_};
        mark = who->may_come_back();
        unknown_there = !who->entered && who->entering == 0 && !who->in_doubt && !who->leave_in_doubt;
        simple =
            who->slot && who->entered && who->entering == 0 && !who->in_doubt && !who->leave_in_doubt && !who->leaving;
        if (simple) who->leaving = true;
    }
    if (unknown_there) return end_leaving(one.name, one.id, who, release_is::released, std::move(one.done));
    if (!simple) return leave(one.name, one.id, who, mark, std::move(one.done));
    // A bare request is cheaper than a transaction. If it deletes nothing, the transaction says why.
    cluster_->ask(
        method::remove, remove_request(who->at.key), how_.timeout,
        [self = shared_from_this(), one = std::move(one)](const outcome& said, const std::string& bytes) mutable {
            rpc::delete_response read;
            const bool known = said.ok() && decode(bytes, read);
            {
                std::scoped_lock guard{self->mutex_};
                one.who->leaving = false;
                if (!known) one.who->leave_in_doubt = true;
            }
            if (!known) return one.done(release_is::unknown);
            if (read.deleted == 0) return self->leave(one.name, one.id, one.who, false, std::move(one.done));
            self->end_leaving(one.name, one.id, one.who, release_is::released, std::move(one.done));
        });
}

// In one transaction. Whoever only waited has left, also if its key was not there.
void desk::leave_together(std::vector<pending_release> some) {
    std::vector<leaver> leavers;
    {
        std::scoped_lock guard{mutex_};
        for (const pending_release& one : some) {
            leavers.push_back({one.who->at, one.who->may_come_back() ? one.who->on->id : 0});
            one.who->leaving = true;
        }
    }
    std::string request = leave_together_request(leavers);
    cluster_->ask(method::txn, std::move(request), how_.timeout,
                  [self = shared_from_this(), some = std::move(some), leavers = std::move(leavers)](
                      const outcome& said, const std::string& bytes) mutable {
                      const std::vector<bool> deleted = said.ok() ? read_left_together(bytes) : std::vector<bool>{};
                      const bool known = deleted.size() == some.size();
                      const bool refused = said.is == outcome::verdict::refused;
                      {
                          std::scoped_lock guard{self->mutex_};
                          for (const pending_release& one : some) {
                              one.who->leaving = false;
                              if (!known && !refused) one.who->leave_in_doubt = true;
                          }
                          // Perhaps this etcd allows fewer operations in a transaction.
                          if (refused && !said.no_lease)
                              self->most_together_ = std::max<std::size_t>(self->most_together_ / 2, 1);
                      }
                      for (std::size_t i = 0; i < some.size(); ++i) {
                          pending_release& one = some[i];
                          if (known && leavers[i].mark_on != 0) self->kept_out(one.who);
                          if (refused)
                              self->leave_alone(std::move(one));
                          else if (!known)
                              one.done(release_is::unknown);
                          else if (deleted[i] || !one.who->was_held)
                              self->end_leaving(one.name, one.id, one.who, release_is::released, std::move(one.done));
                          else
                              self->leave(one.name, one.id, one.who, false, std::move(one.done));
                      }
                  });
}

void desk::leave(std::string_view name, const claim_id& id, const record& who, bool mark,
                 spi::reply<spi::release_answer> done) {
    const place at = who ? who->at : place_of(name, id);
    const std::int64_t on = mark ? who->on->id : 0;
    const std::string value = who && who->slot ? who->mine.value() : std::string{};
    cluster_->ask(
        method::txn, leave_request(at, value, mark, on), how_.timeout,
        [self = shared_from_this(), name = std::string(name), id, who, mark, at, done = std::move(done)](
            const outcome& said, const std::string& bytes) mutable {
            if (mark && (said.ok() || said.no_lease)) self->kept_out(who);  // what is late needs that lease too
            if (said.no_lease && mark) return self->leave(name, id, who, false, std::move(done));
            txn_said read;
            if (said.ok()) read = read_txn(self->keys_, at.folder, bytes);
            if (!read.read && who) {
                std::scoped_lock guard{self->mutex_};
                who->leave_in_doubt = true;
            }
            if (!read.read) return done(release_is::unknown);
            // Under another value: it was exchanged or stamped, and that was not answered.
            if (const entry* its = !read.succeeded && who && read.found ? read.found->find(who->line_id) : nullptr)
                return self->take_away(name, id, who, *its, std::move(done));
            self->left(name, id, who, read, std::move(done));
        });
}

void desk::take_away(const std::string& name, const claim_id& id, const record& who, const entry& its,
                     spi::reply<spi::release_answer> done) {
    cluster_->ask(method::txn, take_away_request(its.key, its.modified), how_.timeout,
                  [self = shared_from_this(), name, id, who, done = std::move(done)](const outcome& said,
                                                                                     const std::string& bytes) mutable {
                      const txn_said end = said.ok() ? read_txn(self->keys_, {}, bytes) : txn_said{};
                      if (!end.succeeded) return done(release_is::unknown);  // it is asked again
                      self->end_leaving(name, id, who, release_is::released, std::move(done));
                  });
}

void desk::left(const std::string& name, const claim_id& id, const record& who, const txn_said& read,
                spi::reply<spi::release_answer> done) {
    const bool others = read.found && !read.found->entries.empty();
    const spi::release_answer said = read.succeeded || read.marked ? release_is::released
                                     : others                      ? release_is::taken_over
                                                                   : release_is::expired;
    bool doubt = false;
    std::shared_ptr<lease> on;
    if (who) {
        std::scoped_lock guard{mutex_};
        doubt = who->leave_in_doubt && who->entered;
        on = who->on;
    }
    if (said != release_is::released && doubt && on) {
        // It may have been us, a moment ago. While the lease lives, who else?
        cluster_->ask(method::left_of_lease, lease_request(on->id), how_.timeout,
                      [self = shared_from_this(), name, id, who, said, done = std::move(done)](
                          const outcome& told, const std::string& bytes) mutable {
                          rpc::lease_response left;
                          if (!told.ok() || !decode(bytes, left)) return done(release_is::unknown);
                          self->end_leaving(name, id, who, left.ttl > 0 ? release_is::released : said, std::move(done));
                      });
        return;
    }
    entry its;
    if (read.succeeded && !its.read_value(read.removed)) its.own_lease = !keys_.native();
    if (!who && its.own_lease && read.lease.value_or(0) != 0) leases_->revoke(*read.lease, {});
    if (!its.detached) return end_leaving(name, id, who, said, std::move(done));
    mark_as_released(id, [self = shared_from_this(), name, id, who, said, done = std::move(done)]() mutable {
        self->end_leaving(name, id, who, said, std::move(done));
    });
}

void desk::end_leaving(const std::string& name, const claim_id& id, const record& who, spi::release_answer said,
                       spi::reply<spi::release_answer> done) {
    bool must_wait = false;
    bool own = false;
    std::int64_t on = lease_of(id);
    {
        std::scoped_lock guard{mutex_};
        own = who && who->own_lease;
        must_wait = own && (who->entering > 0 || who->in_doubt);
        if (own && who->on) on = who->on->id;
    }
    remember(name, id, said);  // first: it is always known as one of ours
    if (who) drop(who);
    if (who) wipe_floor(who);
    if (!own) return done(said);
    if (!must_wait) {
        leases_->revoke(on, {});
        return done(said);
    }
    // Only without its lease can it not come back.
    leases_->revoke(on, [said, done = std::move(done)](const outcome& told) mutable {
        done(told.ok() || told.no_lease ? said : release_is::unknown);
    });
}

// The id of a detached claim may be used by anybody, so all are to know for a while what became of it.
void desk::mark_as_released(const claim_id& id, unique_function<void()> then) {
    leases_->own(lease_of(claim_id::random()), remembered_for,
                 [self = shared_from_this(), id, then = std::move(then)](const outcome& said,
                                                                         const std::shared_ptr<lease>& brief) mutable {
                     if (!said.ok()) return then();
                     self->cluster_->ask(
                         method::put, put_request(self->keys_.gone_key_of(id), brief->id), self->how_.timeout,
                         [then = std::move(then)](const outcome&, const std::string&) mutable { then(); });
                 });
}

// A mark keeps its late requests out for as long as their lease lives, and goes with it.
void desk::kept_out(const record& who) {
    std::shared_ptr<lease> on;
    {
        std::scoped_lock guard{mutex_};
        who->kept_out = true;
        on = who->on;
    }
    if (on) retire(on);
}

// Of a claim that nobody releases.
void desk::keep_out(const record& who) {
    leave(who->name, who->id, who, true, [weak = weak_from_this(), who](release_is said) {
        const auto self = weak.lock();
        if (!self || said != release_is::unknown) return;
        self->around_.clock.at(self->around_.clock.now() + before_another_try, [weak, who] {
            if (const auto again = weak.lock()) again->cluster_->guarded([&] { again->keep_out(who); });
        });
    });
}

// How late a request can be has no bound. So a lease with marks is given to no new claim, and revoked once it has no other use:
// then no late request can do anything, and the marks are gone.
void desk::retire(const std::shared_ptr<lease>& which) {
    if (leases_->retire(which)) revoke_when_unused(which);
}

void desk::revoke_when_unused(const std::shared_ptr<lease>& which) {
    around_.clock.at(around_.clock.now() + retired_for, [weak = weak_from_this(), which] {
        const auto self = weak.lock();
        if (!self) return;
        self->cluster_->guarded([&] {
            bool used = false;
            {
                std::scoped_lock guard{self->mutex_};
                used = std::ranges::any_of(self->claims_, [&](const auto& one) { return one.second->on == which; });
            }
            if (used) return self->revoke_when_unused(which);
            self->leases_->keep_on(which, false);
            self->leases_->revoke(which->id, {});
        });
    });
}

void desk::remember(const std::string& name, const claim_id& id, spi::release_answer said) {
    std::scoped_lock guard{mutex_};
    const spi::time_point now = around_.clock.now();
    ended_claim& its = ended_[{id, name}];
    if (!its.said) its = {said, now + remembered_for};
    if (ended_.size() < sweep_at_) return;
    std::erase_if(ended_, [&](const auto& one) { return one.second.until < now; });
    sweep_at_ = 2 * ended_.size() + 1000;
}

bool desk::was_released(std::string_view name, const claim_id& id) {
    std::scoped_lock guard{mutex_};
    const auto it = ended_.find({id, std::string(name)});
    return it != ended_.end() && it->second.until >= around_.clock.now();
}

std::optional<spi::release_answer> desk::remembered(std::string_view name, const claim_id& id) {
    std::scoped_lock guard{mutex_};
    const auto it = ended_.find({id, std::string(name)});
    if (it == ended_.end() || it->second.until < around_.clock.now()) return std::nullopt;
    return it->second.said;
}

}  // namespace mortise::inline v0::stores::etcd
