#include "stores/etcd/hold_watch.hpp"

#include "stores/etcd/requests.hpp"

#include <chrono>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

constexpr std::chrono::milliseconds watched_after{200};

}  // namespace

void hold_watch::add(const record& claim) {
    {
        std::scoped_lock guard{mutex_};
        next_.push_back(claim);
        if (std::exchange(soon_, true)) return;
    }
    parts_->context.clock.at(parts_->context.clock.now() + watched_after, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->parts_->cluster->guarded([&] { self->begin(); });
    });
}

void hold_watch::begin() {
    std::vector<std::weak_ptr<claim_record>> some;
    {
        std::scoped_lock guard{mutex_};
        soon_ = false;
        some = std::exchange(next_, {});
    }
    for (const auto& one : some) {
        const record claim = one.lock();
        if (!claim) continue;
        std::int64_t seen_at = 0;
        {
            const auto held = table_->locked();
            if (!claim->machine.holds()) continue;
            seen_at = claim->seen_at;
        }
        const watcher::number made = parts_->watches->watch(claim->at.key, seen_at, watcher::begins::there, {},
                                                            [weak = weak_from_this(), claim] {
                                                                if (const auto self = weak.lock()) self->look(claim);
                                                            });
        add_watch(*table_, *parts_->watches, claim, true, made);
    }
}

// Or so it seems: what was watched may have been compacted away.
void hold_watch::look(const record& claim) {
    parts_->cluster->ask(method::txn, read_request(claim->at.folder), parts_->settings.timeout,
                         [self = shared_from_this(), claim](const rpc_result& reply, const std::string& bytes) {
                             const txn_reply read =
                                 reply.ok() ? read_txn(self->parts_->keys, claim->at.folder, bytes) : txn_reply{};
                             const bool gone = read.found && read.found->find(claim->line_id) == nullptr;
                             if (gone) return self->gone_(claim);
                             {
                                 const auto held = self->table_->locked();
                                 if (!claim->machine.holds()) return;
                                 if (read.found) claim->seen_at = read.revision;
                                 claim->watches.clear();
                             }
                             self->add(claim);
                         });
}

void add_watch(claim_table& table, watcher& watches, const record& claim, bool held, watcher::number made) {
    {
        const auto locked = table.locked();
        const bool holds = claim->machine.holds();
        if (held ? holds : !holds && !claim->machine.leaves()) return claim->watches.push_back(made);
    }
    watches.cancel(made);
}

}  // namespace mortise::inline v0::stores::etcd
