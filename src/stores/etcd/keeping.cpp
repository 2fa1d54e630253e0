// How holds are kept, and how their end is noticed. See desk.hpp for the picture.
#include "stores/etcd/desk.hpp"

#include <mortise/error.hpp>

#include <map>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using renewal_is = spi::renewal_answer;

// A hold's key is watched when it has been held for a moment: most are not.
constexpr milliseconds watched_after{200};

}  // namespace

// All answers, and how many are missing.
struct desk::renewal_round {
    std::mutex mutex;
    std::vector<spi::renewal_answer> answers;
    std::size_t missing = 0;
    spi::reply<std::vector<spi::renewal_answer>> done;

    void answer(const std::vector<std::size_t>& places, spi::renewal_answer said) {
        std::unique_lock held{mutex};
        for (const std::size_t each : places) answers[each] = said;
        missing -= places.size();
        if (missing != 0) return;
        auto tell = std::move(done);
        auto all = std::move(answers);
        held.unlock();
        tell(std::move(all));
    }
};

void desk::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    const auto round = std::make_shared<renewal_round>();
    round->answers.assign(due.size(), renewal_is::unknown);
    round->missing = due.size();
    round->done = std::move(done);

    std::map<std::shared_ptr<lease>, std::vector<std::size_t>> by_lease;
    std::vector<std::size_t> apart;
    {
        std::scoped_lock guard{mutex_};
        for (std::size_t i = 0; i < due.size(); ++i) {
            const auto it = claims_.find(due[i].id);
            const bool ours = it != claims_.end() && it->second->is == claim_record::phase::held && it->second->on;
            if (ours && due[i].lease > spi::duration::zero() && due[i].lease <= leases_->terms_of(*it->second->on).life)
                by_lease[it->second->on].push_back(i);
            else
                apart.push_back(i);
        }
    }
    for (const std::size_t each : apart)
        extend(std::string(due[each].name), due[each].id, due[each].lease,
               [round, each](spi::renewal_answer said) { round->answer({each}, said); });
    for (auto& [on, places] : by_lease)
        leases_->keep(on, [round, places = std::move(places)](lease_book::answer is) {
            round->answer(places, is == lease_book::answer::alive  ? renewal_is::renewed
                                  : is == lease_book::answer::gone ? renewal_is::lost
                                                                   : renewal_is::unknown);
        });
}

// A claim of anybody's, by its id; or one of ours that is to live longer than its lease can. Zero extends nothing.
void desk::extend(std::string name, const claim_id& id, spi::duration life,
                  unique_function<void(spi::renewal_answer)> then) {
    const place at = place_of(name, id);
    cluster_->look_up(method::txn, read_request(at.folder), how_.timeout,
                      [self = shared_from_this(), at, id, life, then = std::move(then)](
                          const outcome& said, const std::string& bytes) mutable {
                          const txn_said read = said.ok() ? read_txn(self->keys_, at.folder, bytes) : txn_said{};
                          if (!read.found) return then(renewal_is::unknown);
                          const entry* mine = read.found->find(self->line_id_of(id));
                          if (mine == nullptr) return then(renewal_is::lost);
                          using is = base::line_verdict::verdict;
                          if (base::judge(read.found->shape(), mine->at.id, read.found->floor).is != is::holds)
                              return then(renewal_is::lost);
                          if (life == spi::duration::zero()) return then(renewal_is::renewed);
                          self->keep_or_move(*mine, life, id, std::move(then));
                      });
}

// Its lease is kept, if that is long enough.
void desk::keep_or_move(const entry& its, spi::duration life, const claim_id& id,
                        unique_function<void(spi::renewal_answer)> then) {
    cluster_->ask(method::left_of_lease, lease_request(its.lease), how_.timeout,
                  [self = shared_from_this(), its, id, life, then = std::move(then)](const outcome& said,
                                                                                     const std::string& bytes) mutable {
                      rpc::lease_response left;
                      if (!said.ok() || !decode(bytes, left)) return then(renewal_is::unknown);
                      if (left.ttl <= 0) return then(renewal_is::lost);
                      if (seconds{left.granted_ttl} < life) return self->move_to_longer(its, life, id, std::move(then));
                      const auto on = std::make_shared<lease>();
                      on->id = its.lease;
                      on->life = seconds{left.granted_ttl};
                      self->leases_->keep(on, [then = std::move(then)](lease_book::answer is) mutable {
                          then(is == lease_book::answer::alive  ? renewal_is::renewed
                               : is == lease_book::answer::gone ? renewal_is::lost
                                                                : renewal_is::unknown);
                      });
                  });
}

// A lease cannot be made longer, but a key can be put on another one. It keeps its place in the line.
void desk::move_to_longer(entry found, spi::duration life, const claim_id& id,
                          unique_function<void(spi::renewal_answer)> then) {
    leases_->own(lease_of(claim_id::random()), life,
                 [self = shared_from_this(), found = std::move(found), id, then = std::move(then)](
                     const outcome& said, const std::shared_ptr<lease>& longer) mutable {
                     if (!said.ok()) return then(renewal_is::unknown);
                     const bool had_its_own = std::exchange(found.own_lease, true);
                     self->cluster_->ask(
                         method::txn, move_request(found.key, found.modified, found.value(), longer->id),
                         self->how_.timeout,
                         [self, found, had_its_own, longer, id, then = std::move(then)](
                             const outcome& told, const std::string& bytes) mutable {
                             const txn_said read = told.ok() ? read_txn(self->keys_, {}, bytes) : txn_said{};
                             if (!read.succeeded) return then(renewal_is::unknown);
                             {
                                 std::scoped_lock guard{self->mutex_};
                                 if (const auto it = self->claims_.find(id); it != self->claims_.end())
                                     it->second->on = longer;
                             }
                             if (had_its_own) self->leases_->revoke(found.lease, {});
                             then(renewal_is::renewed);
                         });
                 });
}

// etcd has ended a lease, and with it all keys on it.
void desk::lease_gone(const std::shared_ptr<lease>& which) {
    std::vector<record> lost_ones;
    {
        std::scoped_lock guard{mutex_};
        for (const auto& [id, who] : claims_) {
            if (who->on != which) continue;
            who->in_doubt = false;  // what is late needs that lease too
            if (who->entered && who->is != claim_record::phase::over) lost_ones.push_back(who);
            if (!who->entered) who->on.reset();
        }
    }
    for (const record& who : lost_ones) thrown_out(who);
}

void desk::watch_holds_soon() {
    around_.clock.at(around_.clock.now() + watched_after, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->cluster_->guarded([&] { self->watch_holds(); });
    });
}

void desk::watch_holds() {
    std::vector<record> now;
    {
        std::scoped_lock guard{mutex_};
        watching_soon_ = false;
        for (const auto& one : std::exchange(unwatched_, {}))
            if (auto who = one.lock(); who && who->is == claim_record::phase::held) now.push_back(std::move(who));
    }
    for (const record& who : now) {
        const watcher::number made =
            watcher_->watch(who->at.key, who->seen_at, watcher::begins::there, {}, [weak = weak_from_this(), who] {
                if (const auto self = weak.lock()) self->hold_gone(who);
            });
        add_watch(who, claim_record::phase::held, made);
    }
}

// Or so it seems: what was watched may have been compacted away.
void desk::hold_gone(const record& who) {
    cluster_->ask(method::txn, read_request(who->at.folder), how_.timeout,
                  [self = shared_from_this(), who](const outcome& said, const std::string& bytes) {
                      const txn_said read = said.ok() ? read_txn(self->keys_, who->at.folder, bytes) : txn_said{};
                      bool soon = false;
                      {
                          std::scoped_lock guard{self->mutex_};
                          if (who->is != claim_record::phase::held || who->being_replaced) return;
                          if (!read.found || read.found->find(who->line_id) != nullptr) {
                              if (read.found) who->seen_at = read.revision;
                              who->watches.clear();
                              self->unwatched_.push_back(who);
                              soon = !std::exchange(self->watching_soon_, true);
                          }
                      }
                      if (soon) return self->watch_holds_soon();
                      if (read.found && read.found->find(who->line_id) == nullptr) self->thrown_out(who);
                  });
}

}  // namespace mortise::inline v0::stores::etcd
