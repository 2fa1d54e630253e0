#include "stores/etcd/removals.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

// Requests on their way at a time.
constexpr std::size_t most_under_way = 64;

// How long anybody can read that a detached claim was released.
constexpr std::chrono::seconds marked_for{10};

}  // namespace

void removals::remove(const record& claim, const base::queued_claim::action& what, then done) {
    pending one{.claim = claim, .late = what.late, .again = what.again, .there = what.there, .done = std::move(done)};
    {
        const auto held = table_->locked();
        one.on = claim->on;
        one.was_held = claim->was_held;
        one.withdraws = claim->machine.is() == base::queued_claim::phase::withdrawing;
    }
    // Its lease has ended: so has what is late.
    if (!one.on) one.late = false;
    {
        std::scoped_lock guard{mutex_};
        waiting_.push_back(std::move(one));
    }
    send();
}

void removals::send() {
    std::vector<pending> together;
    std::vector<pending> alone;
    {
        std::scoped_lock guard{mutex_};
        if (waiting_.empty() || under_way_ == most_under_way) return;
        ++under_way_;
        for (std::size_t n = std::min(waiting_.size(), most_together_); n > 0; --n) {
            (may_leave_in_company(waiting_.front()) ? together : alone).push_back(std::move(waiting_.front()));
            waiting_.pop_front();
        }
    }
    const auto left = std::make_shared<std::atomic<std::size_t>>(together.size() + alone.size());
    for (auto* some : {&together, &alone})
        for (pending& one : *some)
            one.done = [self = shared_from_this(), left,
                        done = std::move(one.done)](const std::optional<removal>& how) mutable {
                if (left->fetch_sub(1) == 1) {
                    std::scoped_lock guard{self->mutex_};
                    --self->under_way_;
                }
                done(how);
                self->send();
            };
    if (together.size() > 1)
        leave_together(std::move(together));
    else
        std::ranges::move(together, std::back_inserter(alone));
    for (pending& one : alone) leave_alone(std::move(one));
}

// Its key may be deleted without a look at it.
bool removals::may_leave_in_company(const pending& one) const {
    const claim_record& claim = *one.claim;
    if (!claim.slot || one.withdraws || (one.was_held && one.again)) return false;
    if (table_->next_of(one.claim)) return false;
    if (claim.own_lease && one.late) return false;
    return one.late ? !one.was_held : one.there;
}

void removals::leave_alone(pending one) {
    // Its key is there and nothing of it is on its way.
    const bool simple = one.claim->slot && one.there && !one.late && !one.again && !one.withdraws;
    if (!simple) return leave(std::move(one));
    if (const record next = table_->next_of(one.claim)) return hand_on(std::move(one), next);
    // A bare request is cheaper than a transaction. If it deletes nothing, the transaction says why.
    const std::string request = remove_request(one.claim->at.key);
    parts_->cluster->ask(
        method::remove, request, parts_->settings.timeout,
        [self = shared_from_this(), one = std::move(one)](const rpc_result& reply, const std::string& bytes) mutable {
            rpc::delete_response read;
            if (!reply.ok() || !decode(bytes, read)) return one.done(std::nullopt);
            if (read.deleted == 0) return self->leave(std::move(one));
            self->end(std::move(one), {.was_there = true});
        });
}

// Who is next is ours too: its key is read as this one goes, and need not be read by itself.
void removals::hand_on(pending one, const record& next) {
    claim_record::follower as{};
    {
        const auto held = table_->locked();
        as = one.claim->followed_by;
        next->being_handed = true;
    }
    std::string request = hand_on_request(one.claim->at, as.behind, next->at.key);  // before `one` is moved from
    parts_->cluster->ask(method::txn, std::move(request), parts_->settings.timeout,
                         [self = shared_from_this(), one = std::move(one), next, as](const rpc_result& reply,
                                                                                     const std::string& bytes) mutable {
                             txn_reply read;
                             if (reply.ok()) read = read_txn(self->parts_->keys, one.claim->at.folder, bytes);
                             if (!read.read)
                                 one.done(std::nullopt);
                             else if (!read.succeeded)
                                 self->leave(std::move(one));
                             else
                                 self->end(std::move(one), {.was_there = true});
                             const bool there = read.found && read.found->entries.size() == 1;
                             if (there && read.found->entries.front().at.arrived != as.arrived) read.found.reset();
                             self->turn_of_(next, std::move(read.found));
                         });
}

// In one transaction. Whoever only waited has left, also if its key was not there.
void removals::leave_together(std::vector<pending> some) {
    std::vector<leaver> leavers;
    for (const pending& one : some) leavers.push_back({one.claim->at, one.late ? one.on->id : 0});
    std::string request = leave_together_request(leavers);
    parts_->cluster->ask(
        method::txn, std::move(request), parts_->settings.timeout,
        [self = shared_from_this(), some = std::move(some)](const rpc_result& reply, const std::string& bytes) mutable {
            const std::vector<bool> deleted = reply.ok() ? read_left_together(bytes) : std::vector<bool>{};
            const bool known = deleted.size() == some.size();
            const bool refused = reply.is == rpc_result::verdict::refused;
            if (refused && !reply.no_lease) {  // perhaps this etcd allows fewer operations in a transaction
                std::scoped_lock guard{self->mutex_};
                self->most_together_ = std::max<std::size_t>(self->most_together_ / 2, 1);
            }
            for (std::size_t i = 0; i < some.size(); ++i) {
                pending& one = some[i];
                if (known && one.late) self->left_mark_(one.on);
                if (refused)
                    self->leave_alone(std::move(one));
                else if (!known)
                    one.done(std::nullopt);
                else if (deleted[i] || !one.was_held)
                    self->end(std::move(one), {.was_there = deleted[i]});
                else
                    self->leave(std::move(one));
            }
        });
}

void removals::leave(pending one) {
    const claim_record& claim = *one.claim;
    const bool mark = one.late && !claim.own_lease;
    std::string value;
    if (claim.slot) {
        const auto held = table_->locked();
        value = claim.mine.value();
    }
    const std::string request = leave_request(claim.at, value, mark, mark ? one.on->id : 0);
    parts_->cluster->ask(
        method::txn, request, parts_->settings.timeout,
        [self = shared_from_this(), one = std::move(one), mark](const rpc_result& reply,
                                                                const std::string& bytes) mutable {
            if (mark && reply.no_lease) {  // what is late needs that lease too
                one.late = false;
                return self->leave(std::move(one));
            }
            if (mark && reply.ok()) self->left_mark_(one.on);
            txn_reply read;
            if (reply.ok()) read = read_txn(self->parts_->keys, one.claim->at.folder, bytes);
            if (!read.read) return one.done(std::nullopt);
            // Under another value: it was exchanged or stamped, and that was not answered.
            const stored_claim* its = !read.succeeded && read.found ? read.found->find(one.claim->line_id) : nullptr;
            if (its != nullptr) return self->take_away(std::move(one), *its);
            const bool others = read.found && !read.found->entries.empty();
            if (!read.succeeded && !read.marked) return self->missing(std::move(one), {.others = others});
            stored_claim was;
            if (!read.succeeded || !was.read_value(read.removed) || !was.detached)
                return self->end(std::move(one), {.was_there = true});
            const claim_id id = one.claim->id;
            self->mark_as_released(
                id, [self, one = std::move(one)]() mutable { self->end(std::move(one), {.was_there = true}); });
        });
}

void removals::take_away(pending one, const stored_claim& its) {
    parts_->cluster->ask(method::txn, take_away_request(its.key, its.modified), parts_->settings.timeout,
                         [self = shared_from_this(), one = std::move(one), took_place = its.at.place != 0](
                             const rpc_result& reply, const std::string& bytes) mutable {
                             const txn_reply read = reply.ok() ? read_txn(self->parts_->keys, {}, bytes) : txn_reply{};
                             if (!read.succeeded) return one.done(std::nullopt);  // it is asked again
                             self->end(std::move(one), {.was_there = true, .took_place = took_place});
                         });
}

// It may have been us, a moment ago. While the lease lives, who else?
void removals::missing(pending one, removal how) {
    if (!one.again || !one.on) {
        how.lease_over = !one.on;
        return end(std::move(one), how);
    }
    const std::string request = lease_request(one.on->id);  // before `one` is moved from
    parts_->cluster->ask(method::left_of_lease, request, parts_->settings.timeout,
                         [self = shared_from_this(), one = std::move(one), how](const rpc_result& reply,
                                                                                const std::string& bytes) mutable {
                             rpc::lease_response left;
                             if (!reply.ok() || !decode(bytes, left)) return one.done(std::nullopt);
                             how.lease_over = left.ttl <= 0;
                             self->end(std::move(one), how);
                         });
}

void removals::end(pending one, const removal& how) {
    wipe_floor(one.claim);
    if (!one.claim->own_lease) return one.done(how);
    const std::int64_t on = one.on ? one.on->id : lease_of(one.claim->id);
    if (!one.late && !one.withdraws) {
        parts_->leases->revoke(on, {});
        return one.done(how);
    }
    // Only without its lease can it not come back; and the same claim may come again, and with it the same lease.
    const bool late = one.late;
    parts_->leases->revoke(on, [how, late, done = std::move(one.done)](const rpc_result& reply) mutable {
        const bool known = reply.ok() || reply.no_lease || !late;
        done(known ? std::optional{how} : std::nullopt);
    });
}

// The id of a detached claim may be used by anybody, so all are to know for a while what became of it.
void removals::mark_as_released(const claim_id& id, unique_function<void()> after) {
    parts_->leases->own(lease_of(claim_id::random()), marked_for,
                        [self = shared_from_this(), id, after = std::move(after)](
                            const rpc_result& reply, const std::shared_ptr<lease>& brief) mutable {
                            if (!reply.ok()) return after();
                            const std::string request = put_request(self->parts_->keys.gone_key_of(id), brief->id);
                            self->parts_->cluster->ask(
                                method::put, request, self->parts_->settings.timeout,
                                [after = std::move(after)](const rpc_result&, const std::string&) mutable { after(); });
                        });
}

// Without anybody in the line, what was said to those in it need not stay.
void removals::wipe_floor(const record& claim) {
    if (!table_->has_floor(claim->name)) return;
    parts_->cluster->ask(
        method::txn, wipe_floor_request(claim->at.folder), parts_->settings.timeout,
        [self = shared_from_this(), name = claim->name](const rpc_result& reply, const std::string& bytes) {
            if (reply.ok() && read_txn(self->parts_->keys, {}, bytes).succeeded) self->table_->floor_wiped(name);
        });
}

void removals::remove_another(std::string_view name, const claim_id& id, then done) {
    const claim_keys at = table_->keys_of(name, id);
    parts_->cluster->ask(method::txn, leave_request(at, {}, false, 0), parts_->settings.timeout,
                         [self = shared_from_this(), at, id, done = std::move(done)](const rpc_result& reply,
                                                                                     const std::string& bytes) mutable {
                             txn_reply read;
                             if (reply.ok()) read = read_txn(self->parts_->keys, at.folder, bytes);
                             if (!read.read) return done(std::nullopt);
                             removal how{.was_there = read.succeeded || read.marked};
                             how.others = read.found && !read.found->entries.empty();
                             stored_claim its;
                             if (read.succeeded && !its.read_value(read.removed))
                                 its.own_lease = !self->parts_->keys.native();
                             if (its.own_lease && read.lease.value_or(0) != 0)
                                 self->parts_->leases->revoke(*read.lease, {});
                             if (!its.detached) return done(how);
                             self->mark_as_released(id, [how, done = std::move(done)]() mutable { done(how); });
                         });
}

void removals::close() noexcept {
    std::deque<pending> waiting;  // after the lock: they may own anything
    std::scoped_lock guard{mutex_};
    waiting.swap(waiting_);
}

}  // namespace mortise::inline v0::stores::etcd
