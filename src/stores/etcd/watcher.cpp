#include "stores/etcd/watcher.hpp"

#include "stores/etcd/requests.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds swept_after{500};

}  // namespace

std::string watcher::request_for(const watch_table::actions::watch& one) {
    return encoded(rpc::watch_create{.key = one.key, .start_revision = one.from, .watch_id = one.which});
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

void watcher::cancel(number waiting) {
    lock held{mutex_};
    watch_table::actions next = all_.forget(waiting, clock_.now());
    act(std::move(held), std::move(next));
}

// Requests are said in the order of what led to them, so still under the lock; stream::say() calls nobody. Without a stream
// they are said when there is one.
void watcher::act(lock held, watch_table::actions what) {
    const bool open_now = !stream_ && !what.begin.empty() && !std::exchange(opening_, true);
    if (stream_) {
        for (const auto& one : what.begin) stream_->say(request_for(one));
        for (const number which : what.end) stream_->say(encoded(rpc::watch_cancel{which}));
        stream_->expect(all_.awaited());
    }
    const bool sweep = all_.idle() && !std::exchange(sweeping_, true);
    held.unlock();
    if (open_now) open();
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

// Whoever sets `opening_` calls it. All that is watched is asked for anew.
void watcher::open() {
    std::uint64_t made = 0;
    {
        std::scoped_lock guard{mutex_};
        made = ++stream_number_;
    }
    auto over = cluster_->open(method::watch, {.heard =
                                                   [weak = weak_from_this()](const std::string& message) {
                                                       if (const auto self = weak.lock()) self->heard(message);
                                                   },
                                               .ended =
                                                   [weak = weak_from_this(), made](const rpc_result&) {
                                                       if (const auto self = weak.lock()) self->ended(made);
                                                   }});
    std::scoped_lock guard{mutex_};
    if (stream_number_ != made) return;  // it has ended already
    opening_ = false;
    stream_ = over;
    for (const auto& one : all_.reopened().begin) over->say(request_for(one));
    over->expect(all_.awaited());
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
    failures_ = 0;
    watch_table::actions next;
    if (reply.created) next = all_.created(reply.watch_id, reply.revision, clock_.now());
    std::int64_t last = 0;
    for (const rpc::event& one : reply.events)
        if (one.deleted) last = std::max(last, one.kv.mod_revision);
    if (last != 0) next = all_.deleted(reply.watch_id, last, clock_.now());
    act(std::move(held), std::move(next));
}

void watcher::ended(std::uint64_t which) {
    milliseconds pause{};
    {
        std::scoped_lock guard{mutex_};
        if (which != stream_number_) return;
        ++stream_number_;
        stream_.reset();
        opening_ = true;
        pause = milliseconds{10} * (1 << std::min(failures_++, 7u));
    }
    clock_.at(clock_.now() + pause, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->cluster_->guarded([&] { self->open(); });
    });
}

}  // namespace mortise::inline v0::stores::etcd
