#include "stores/etcd/watcher.hpp"

#include "rpc.pb.h"
#include "stores/etcd/requests.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;

constexpr int no_puts = 0;  // a filter
constexpr int deleted = 1;  // an event

}  // namespace

std::string watcher::request_for(number which, const watched& one, bool now) {
    mortise_etcd::watch_request all;
    auto& create = *all.mutable_create();
    create.set_key(one.key);
    create.set_start_revision(now ? 0 : one.from);
    create.add_filters(no_puts);
    create.set_watch_id(which);
    return all.SerializeAsString();
}

watcher::number watcher::watch(std::string key, std::int64_t from, unique_function<void()> gone,
                               unique_function<void()> missed) {
    std::shared_ptr<stream> over;
    std::string request;
    number made = 0;
    {
        std::scoped_lock guard{mutex_};
        made = ++last_;
        watched& one = all_[made];
        one = {std::move(key), from, std::move(gone), std::move(missed)};
        over = stream_;
        request = request_for(made, one, static_cast<bool>(one.missed));
        if (!over && std::exchange(opening_, true)) return made;
    }
    if (over) {
        over->say(std::move(request));
    } else {
        open();
    }
    return made;
}

void watcher::cancel(number which) {
    std::shared_ptr<stream> over;
    watched dropped;
    {
        std::scoped_lock guard{mutex_};
        const auto it = all_.find(which);
        if (it == all_.end()) return;
        dropped = std::move(it->second);
        all_.erase(it);
        over = stream_;
    }
    if (!over) return;
    mortise_etcd::watch_request all;
    all.mutable_cancel()->set_watch_id(which);
    over->say(all.SerializeAsString());
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
                                                   [weak = weak_from_this(), made](const outcome&) {
                                                       if (const auto self = weak.lock()) self->ended(made);
                                                   }});
    std::scoped_lock guard{mutex_};
    if (stream_number_ != made) return;  // it has ended already
    opening_ = false;
    stream_ = over;
    for (const auto& [which, one] : all_) over->say(request_for(which, one, static_cast<bool>(one.missed)));
}

void watcher::heard(const std::string& message) {
    mortise_etcd::watch_response said;
    if (!said.ParseFromString(message)) return;
    const bool gone = std::ranges::any_of(said.events(), [](const auto& one) { return one.type() == deleted; });
    unique_function<void()> tell;
    if (!gone && !said.canceled()) {
        {
            std::scoped_lock guard{mutex_};
            failures_ = 0;
            const auto it = all_.find(said.watch_id());
            if (!said.created() || it == all_.end()) return;
            tell = std::move(it->second.missed);
            if (said.header().revision() < it->second.from) return;
        }
        return tell ? tell() : void();
    }
    std::shared_ptr<stream> over;
    {
        std::scoped_lock guard{mutex_};
        const auto it = all_.find(said.watch_id());
        if (it == all_.end()) return;
        tell = std::move(it->second.gone);
        all_.erase(it);
        over = stream_;
    }
    if (!said.canceled()) {
        if (over) {
            mortise_etcd::watch_request all;
            all.mutable_cancel()->set_watch_id(said.watch_id());
            over->say(all.SerializeAsString());
        }
        return tell();
    }
    // Compacted away, or not allowed. The latter would come again at once.
    const milliseconds pause{said.compact_revision() > 0 ? 0 : 1000};
    clock_.at(clock_.now() + pause, [weak = weak_from_this(), tell = std::move(tell)]() mutable {
        if (const auto self = weak.lock()) self->cluster_->guarded([&] { tell(); });
    });
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
