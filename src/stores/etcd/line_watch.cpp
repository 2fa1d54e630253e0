#include "stores/etcd/line_watch.hpp"

#include "stores/etcd/hold_watch.hpp"

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;

// How soon one that is next looks again while its watch is young, and how soon one that is near. See watch_table.hpp.
constexpr milliseconds next_looks{10};
constexpr milliseconds near_looks{25};
constexpr std::size_t near_place = 16;

}  // namespace

void line_watch::watch(const record& claim, const base::line_verdict& judged, const line_snapshot& found) {
    std::vector<watcher::number> before;
    std::shared_ptr<lease> lease_of_it;
    bool is_handed = false;
    {
        const auto held = table_->locked();
        if (claim->watched == judged.watch) return;
        is_handed = table_->is_handed_the_lock(claim, judged, held);
        before = std::exchange(claim->watches, {});
        claim->watched = judged.watch;
        lease_of_it = claim->on;
    }
    if (lease_of_it && claim->own_lease) parts_->leases->keep_on(lease_of_it, true);
    // Whoever is far back has time until etcd serves what begins in the past, and need not read the line twice.
    const bool is_near = judged.place >= 1 && judged.place <= near_place && !is_handed;
    const auto begins = is_near ? watcher::begins::now : watcher::begins::there;
    const spi::duration again = !is_near ? spi::duration{} : judged.place == 1 ? next_looks : near_looks;
    for (const claim_id& id : judged.watch) {
        const stored_claim* one = found.find(id);
        if (one == nullptr) continue;
        const watcher::number made =
            parts_->watches->watch(one->key, found.revision, begins, again, [weak = weak_from_this(), claim] {
                if (const auto self = weak.lock()) self->gone_(claim);
            });
        add_watch(*table_, *parts_->watches, claim, false, made);
    }
    for (const watcher::number each : before) parts_->watches->cancel(each);
}

void line_watch::stop(const record& claim) {
    std::vector<watcher::number> those;
    {
        const auto held = table_->locked();
        those = std::exchange(claim->watches, {});
        claim->watched.clear();
        if (const watcher::number listens = std::exchange(claim->listens, 0)) those.push_back(listens);
    }
    for (const watcher::number each : those) parts_->watches->cancel(each);
}

}  // namespace mortise::inline v0::stores::etcd
