#include "stores/etcd/entrance.hpp"

#include "base/spare_blocks.hpp"

#include <string>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using where = base::queued_claim::action::where;

entry_mode mode_of(where how) {
    return how == where::at_end     ? entry_mode::anyhow
           : how == where::if_empty ? entry_mode::if_empty
                                    : entry_mode::if_same;
}

}  // namespace

void entrance::enter(const record& claim, const base::queued_claim::action& what, then done) {
    bool ready = false;
    {
        const auto held = table_->locked();
        ready = claim->on != nullptr;
    }
    if (ready) return send(claim, what, std::move(done));
    auto with_lease = [self = shared_from_this(), claim, what, done = std::move(done)](
                          const rpc_result& reply, const std::shared_ptr<lease>& given) mutable {
        if (!reply.ok()) return done({.reply = reply});
        {
            const auto held = self->table_->locked();
            if (!claim->on) claim->on = given;
        }
        self->send(claim, what, std::move(done));
    };
    if (claim->own_lease) return parts_->leases->own(lease_of(claim->id), claim->life, std::move(with_lease));
    parts_->leases->share(claim->life, std::move(with_lease));
}

void entrance::send(const record& claim, const base::queued_claim::action& what, then done) {
    struct sent {
        std::shared_ptr<lease> on{};
        std::optional<claim_record::neighbour> behind{};
    };
    const auto with = base::make_spared<sent>();
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
        [self = shared_from_this(), claim, with, done = std::move(done)](const rpc_result& reply,
                                                                         const std::string& bytes) mutable {
            result now{.sent = true, .reply = reply, .behind = with->behind};
            if (reply.ok()) now.read = read_txn(self->parts_->keys, claim->at.folder, bytes);
            if (reply.no_lease) self->parts_->leases->forget(with->on);
            done(now);
        });
}

}  // namespace mortise::inline v0::stores::etcd
