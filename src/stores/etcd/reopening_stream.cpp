#include "stores/etcd/reopening_stream.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds first_pause{10};
constexpr unsigned most_doublings = 7;

}  // namespace

bool reopening_stream::begin_opening(const lock&) {
    return !stream_ && !std::exchange(opening_, true);
}

void reopening_stream::open(const std::shared_ptr<stream_user>& user) {
    std::uint64_t made = 0;
    {
        std::scoped_lock guard{mutex_};
        made = ++number_;
    }
    stream::listener hears;
    hears.heard = [this, weak = std::weak_ptr{user}](const std::string& message) {
        const auto alive = weak.lock();
        if (!alive) return;
        {
            std::scoped_lock guard{mutex_};
            silent_ = 0;
        }
        alive->heard(message);
    };
    hears.ended = [this, weak = std::weak_ptr{user}, made](const rpc_result&) {
        if (const auto alive = weak.lock()) ended(alive, made);
    };
    auto fresh = cluster_->open(method_, std::move(hears));
    const lock held{mutex_};
    if (number_ != made) return;  // it has ended already
    opening_ = false;
    stream_ = std::move(fresh);
    user->opened(*stream_, held);
}

void reopening_stream::ended(const std::shared_ptr<stream_user>& user, std::uint64_t which) {
    lock held{mutex_};
    if (which != number_) return;
    ++number_;
    stream_.reset();
    opening_ = then_ == after_end::reopen;
    const milliseconds pause = first_pause * (1 << std::min(silent_++, most_doublings));
    user->ended(std::move(held));
    if (then_ == after_end::stay_closed) return;
    clock_.at(clock_.now() + pause, [this, weak = std::weak_ptr{user}] {
        if (const auto alive = weak.lock()) cluster_->guarded([&] { open(alive); });
    });
}

}  // namespace mortise::inline v0::stores::etcd
