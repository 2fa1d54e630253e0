#include "stores/etcd/watcher.hpp"

#include "stores/etcd/requests.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds swept_after{500};

// Its key was written for the first time, and it waits for no place of its own client.
bool is_a_reader_who_came(const rpc::key_value& key) {
    stored_claim came;
    return key.create_revision == key.mod_revision && came.read_value(key.value) && came.reads();
}

}  // namespace

watcher::watcher(std::shared_ptr<members> cluster, spi::clock& clock)
    : cluster_(std::move(cluster)),
      clock_(clock),
      stream_(method::watch, reopening_stream::after_end::reopen, cluster_, clock_, mutex_) {}

std::string watcher::request_for(const watch_table::actions::watch& one) {
    return encoded(rpc::watch_create{.key = one.key,
                                     .range_end = one.is_folder ? end_of(one.key) : std::string{},
                                     .start_revision = one.from,
                                     .watch_id = one.which,
                                     .no_puts = !one.is_folder,
                                     .no_deletes = one.is_folder});
}

watcher::number watcher::watch(std::string key, std::int64_t read_at, begins how, spi::duration look,
                               unique_function<void()> told) {
    watch_table::actions next;
    lock held{mutex_};
    const number made = all_.wait(std::move(key), read_at, how, look, std::move(told), clock_.now(), next);
    const auto when = next.look_at;
    act(std::move(held), std::move(next));
    if (when) look_later(made, *when);
    return made;
}

watcher::number watcher::watch_for_writes(std::string folder, std::int64_t read_at, watch_table::writes which,
                                          unique_function<void()> told) {
    watch_table::actions next;
    lock held{mutex_};
    const number made = all_.wait_for_writes(std::move(folder), read_at, which, std::move(told), clock_.now(), next);
    act(std::move(held), std::move(next));
    return made;
}

void watcher::cancel(number waiting) {
    lock held{mutex_};
    watch_table::actions next = all_.forget(waiting, clock_.now());
    act(std::move(held), std::move(next));
}

// Requests are said in the order of what led to them, so still under the lock; stream::say() calls nobody. Without a stream
// they are said when there is one.
void watcher::act(lock held, watch_table::actions what) {
    const bool open = !what.begin.empty() && stream_.begin_opening(held);
    if (const auto& over = stream_.current(held)) {
        for (const auto& one : what.begin) over->say(request_for(one));
        for (const number which : what.end) over->say(encoded(rpc::watch_cancel{which}));
        over->expect(all_.awaited());
    }
    const bool sweep = all_.idle() && !std::exchange(sweeping_, true);
    held.unlock();
    if (open) stream_.open(shared_from_this());
    if (sweep) sweep_later();
    for (auto& each : what.tell) each();
}

void watcher::look_later(number waiting, spi::time_point when) {
    clock_.at(when, [weak = weak_from_this(), waiting] {
        const auto self = weak.lock();
        if (!self) return;
        self->cluster_->guarded([&] {
            lock held{self->mutex_};
            watch_table::actions next = self->all_.look_again(waiting, self->clock_.now());
            self->act(std::move(held), std::move(next));
        });
    });
}

void watcher::sweep_later() {
    clock_.at(clock_.now() + swept_after, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->cluster_->guarded([&] {
            lock held{self->mutex_};
            self->sweeping_ = false;
            watch_table::actions next = self->all_.sweep(self->clock_.now());
            self->act(std::move(held), std::move(next));
        });
    });
}

// All that is watched is asked for anew.
void watcher::opened(stream& fresh, const lock&) {
    for (const auto& one : all_.reopened().begin) fresh.say(request_for(one));
    fresh.expect(all_.awaited());
}

void watcher::heard(const std::string& message) {
    rpc::watch_response reply;
    if (!decode(message, reply)) return;
    lock held{mutex_};
    if (reply.canceled) {
        watch_table::actions next = all_.cancelled(reply.watch_id);
        held.unlock();
        // Compacted away, or not allowed. The latter would come again at once.
        const milliseconds pause{reply.compact_revision > 0 ? 0 : 1000};
        for (auto& tell : next.tell)
            clock_.at(clock_.now() + pause, [weak = weak_from_this(), tell = std::move(tell)]() mutable {
                if (const auto self = weak.lock()) self->cluster_->guarded([&] { tell(); });
            });
        return;
    }
    watch_table::actions next;
    if (reply.created) next = all_.created(reply.watch_id, reply.revision, clock_.now());
    watch_table::latest last;
    const bool of_folder = all_.is_folder(reply.watch_id);
    for (const rpc::event& one : reply.events) {
        if (one.deleted == of_folder) continue;
        last.any = std::max(last.any, one.kv.mod_revision);
        if (!is_a_reader_who_came(one.kv)) last.but_of_readers = std::max(last.but_of_readers, one.kv.mod_revision);
    }
    if (last.any != 0) next = all_.happened(reply.watch_id, last, clock_.now());
    act(std::move(held), std::move(next));
}

}  // namespace mortise::inline v0::stores::etcd
