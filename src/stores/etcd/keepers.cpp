#include "stores/etcd/keepers.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::etcd {

// What has been written anew has its token from the revision of that write, so nobody may touch it.
bool keepers::may_keep(const claim_record& claim) {
    const base::line_entry& at = claim.mine.at;
    return claim.mine.keeps && !at.stamped && at.place == 0 &&
           claim.seen_at == static_cast<std::int64_t>(claim.arrived);
}

const stored_claim* keepers::keeper_in(const line_snapshot& found) {
    const auto reads = [](const stored_claim& one) { return one.reads(); };
    const bool all_read = std::all_of(found.entries.begin(), found.entries.end(), reads);
    if (!all_read && (found.entries.size() != 1 || found.missing_before)) return nullptr;
    const stored_claim* latest = nullptr;
    for (const stored_claim& one : found.entries)
        if (one.keeps && !one.at.stamped && one.at.place == 0 && (!latest || latest->at.arrived < one.at.arrived))
            latest = &one;
    return latest;
}

void keepers::listen(const record& claim) {
    std::int64_t since = 0;
    auto which = watch_table::writes::all;
    {
        const auto held = table_->locked();
        since = static_cast<std::int64_t>(claim->arrived);
        if (claim->mine.reads()) which = watch_table::writes::but_of_readers;
    }
    auto somebody_asks = [weak = weak_from_this(), claim] {
        if (const auto self = weak.lock()) self->parts_->context.events.wanted(claim->name, claim->id);
    };
    const watcher::number made =
        parts_->watches->watch_for_writes(claim->at.folder, since, which, std::move(somebody_asks));
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
