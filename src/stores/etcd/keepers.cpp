#include "stores/etcd/keepers.hpp"

#include <utility>

namespace mortise::inline v0::stores::etcd {

// What has been written anew has its token from the revision of that write, so nobody may touch it.
bool keepers::may_keep(const claim_record& claim) {
    const base::line_entry& at = claim.mine.at;
    return claim.mine.keeps && !at.stamped && at.place == 0 &&
           claim.seen_at == static_cast<std::int64_t>(claim.arrived);
}

const stored_claim* keepers::keeper_in(const line_snapshot& found) {
    if (found.entries.size() != 1 || found.missing_before) return nullptr;
    const stored_claim& only = found.entries.front();
    return only.keeps && !only.at.stamped && only.at.place == 0 ? &only : nullptr;
}

void keepers::listen(const record& claim) {
    std::int64_t since = 0;
    {
        const auto held = table_->locked();
        since = static_cast<std::int64_t>(claim->arrived);
    }
    auto somebody_asks = [weak = weak_from_this(), claim] {
        if (const auto self = weak.lock()) self->parts_->context.events.wanted(claim->name, claim->id);
    };
    const watcher::number made = parts_->watches->watch_for_writes(claim->at.folder, since, std::move(somebody_asks));
    {
        const auto held = table_->locked();
        if (claim->machine.holds()) {
            claim->listens = made;
            return;
        }
    }
    parts_->watches->cancel(made);
}

// Once touched, it has been told.
void keepers::ask(const stored_claim& keeper) {
    if (keeper.modified != static_cast<std::int64_t>(keeper.at.arrived)) return;
    parts_->cluster->ask(method::txn, touch_request(keeper), parts_->settings.timeout,
                         [](const rpc_result&, const std::string&) {});  // its lock is given up some time anyway
}

}  // namespace mortise::inline v0::stores::etcd
