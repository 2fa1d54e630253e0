#include "stores/etcd/renewals.hpp"

#include "base/line.hpp"
#include "base/renewal_replies.hpp"
#include "base/told_span.hpp"

#include <chrono>
#include <map>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::seconds;
using renewal_is = spi::renewal_answer;

renewal_is answer_of(lease_pool::answer is) {
    return is == lease_pool::answer::alive  ? renewal_is::renewed
           : is == lease_pool::answer::gone ? renewal_is::lost
                                            : renewal_is::unknown;
}

}  // namespace

void renewals::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    const auto replies = std::make_shared<base::renewal_replies>(due.size(), std::move(done));
    std::map<std::shared_ptr<lease>, std::vector<std::size_t>> by_lease;
    std::vector<std::size_t> apart;
    {
        const auto held = table_->locked();
        for (std::size_t i = 0; i < due.size(); ++i) {
            const record claim = table_->find(due[i].id, held);
            const bool ours = claim && claim->machine.holds() && claim->on;
            if (ours && due[i].lease > spi::duration::zero() &&
                due[i].lease <= parts_->leases->terms_of(*claim->on).life)
                by_lease[claim->on].push_back(i);
            else
                apart.push_back(i);
        }
    }
    for (const std::size_t each : apart)
        extend(std::string(due[each].name), due[each].id, due[each].lease, [replies, each](spi::renewal_answer reply) {
            replies->set(std::span{&each, 1}, reply);
        });
    for (auto& [on, places] : by_lease)
        parts_->leases->keep(
            on, [replies, places = std::move(places)](lease_pool::answer is) { replies->set(places, answer_of(is)); });
}

// A claim of anybody's, by its id; or one of ours that is to live longer than its lease can. Zero extends nothing.
void renewals::extend(std::string name, const claim_id& id, spi::duration life,
                      unique_function<void(spi::renewal_answer)> done) {
    const claim_keys at = table_->keys_of(name, id);
    parts_->cluster->look_up(method::txn, read_request(at.folder), parts_->settings.timeout,
                             [self = shared_from_this(), at, id, life, done = std::move(done)](
                                 const rpc_result& reply, const std::string& bytes) mutable {
                                 const txn_reply read =
                                     reply.ok() ? read_txn(self->parts_->keys, at.folder, bytes) : txn_reply{};
                                 if (!read.found) return done(renewal_is::unknown);
                                 const stored_claim* mine = read.found->find(self->table_->line_id_of(id));
                                 if (mine == nullptr) return done(renewal_is::lost);
                                 using is = base::line_verdict::verdict;
                                 if (base::judge(read.found->shape(), mine->at.id, read.found->floor).is != is::holds)
                                     return done(renewal_is::lost);
                                 if (life == spi::duration::zero()) return done(renewal_is::renewed);
                                 self->keep_or_move(*mine, life, id, std::move(done));
                             });
}

// Its lease is kept, if that is long enough.
void renewals::keep_or_move(const stored_claim& its, spi::duration life, const claim_id& id,
                            unique_function<void(spi::renewal_answer)> done) {
    parts_->cluster->ask(method::left_of_lease, lease_request(its.lease), parts_->settings.timeout,
                         [self = shared_from_this(), its, id, life, done = std::move(done)](
                             const rpc_result& reply, const std::string& bytes) mutable {
                             rpc::lease_response left;
                             if (!reply.ok() || !decode(bytes, left)) return done(renewal_is::unknown);
                             if (left.ttl <= 0) return done(renewal_is::lost);
                             if (base::told_span<seconds>(left.granted_ttl) < life)
                                 return self->move_to_longer(its, life, id, std::move(done));
                             const auto on = std::make_shared<lease>();
                             on->id = its.lease;
                             on->life = base::told_span<seconds>(left.granted_ttl);
                             self->parts_->leases->keep(
                                 on, [done = std::move(done)](lease_pool::answer is) mutable { done(answer_of(is)); });
                         });
}

// A lease cannot be made longer, but a key can be put on another one. It keeps its place in the line.
void renewals::move_to_longer(stored_claim found, spi::duration life, const claim_id& id,
                              unique_function<void(spi::renewal_answer)> done) {
    parts_->leases->own(lease_of(claim_id::random()), life,
                        [self = shared_from_this(), found = std::move(found), id, done = std::move(done)](
                            const rpc_result& reply, const std::shared_ptr<lease>& longer) mutable {
                            if (!reply.ok()) return done(renewal_is::unknown);
                            const bool had_its_own = std::exchange(found.own_lease, true);
                            self->parts_->cluster->ask(
                                method::txn, move_request(found.key, found.modified, found.value(), longer->id),
                                self->parts_->settings.timeout,
                                [self, found, had_its_own, longer, id, done = std::move(done)](
                                    const rpc_result& told, const std::string& bytes) mutable {
                                    const txn_reply read =
                                        told.ok() ? read_txn(self->parts_->keys, {}, bytes) : txn_reply{};
                                    if (!read.succeeded) return done(renewal_is::unknown);
                                    {
                                        const auto held = self->table_->locked();
                                        if (const record claim = self->table_->find(id, held)) claim->on = longer;
                                    }
                                    if (had_its_own) self->parts_->leases->revoke(found.lease, {});
                                    done(renewal_is::renewed);
                                });
                        });
}

}  // namespace mortise::inline v0::stores::etcd
