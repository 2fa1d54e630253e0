#include "stores/etcd/desk.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

// How long a client that goes waits for its leases to be revoked. They would end by themselves.
constexpr std::chrono::milliseconds last_wait{250};

}  // namespace

desk::desk(settings how, const spi::context& around)
    : how_(std::move(how)), around_(around), cluster_(members::of(how_, around_.clock)) {}

void desk::start() {
    leases_ = std::make_shared<lease_book>(cluster_, around_.clock, how_.timeout,
                                           [weak = weak_from_this()](const std::shared_ptr<lease>& which) {
                                               if (const auto self = weak.lock()) self->lease_gone(which);
                                           });
    watcher_ = std::make_shared<watcher>(cluster_, around_.clock);
}

place desk::place_of(std::string_view name, const claim_id& id, std::optional<unsigned> slot) const {
    return {.folder = keys_.folder_of(name),
            .key = slot ? keys_.key_of(name, me_, *slot) : keys_.key_of(name, id),
            .gone_key = keys_.gone_key_of(id)};
}

claim_id desk::line_id_of(const claim_id& id) const {
    return keys_.native() ? id : claim_id{{0, static_cast<std::uint64_t>(lease_of(id))}};
}

void desk::close() noexcept {
    std::vector<std::int64_t> going;
    {
        std::scoped_lock guard{mutex_};
        if (std::exchange(closed_, true)) return;
        for (const auto& [id, who] : claims_)
            if (who->own_lease && !who->detached && who->on) going.push_back(who->on->id);
    }
    for (const auto& one : leases_->all_shared()) going.push_back(one->id);
    struct parting {
        std::mutex mutex;
        std::condition_variable over;
        std::size_t left;
    };
    const auto all = std::make_shared<parting>();
    all->left = going.size();
    for (const std::int64_t id : going)
        leases_->revoke(id, [all](const outcome&) {
            std::scoped_lock guard{all->mutex};
            if (--all->left == 0) all->over.notify_all();
        });
    const auto until = std::chrono::steady_clock::now() + last_wait;
    const auto none_left = [&] {
        std::scoped_lock guard{all->mutex};
        return all->left == 0;
    };
    cluster_->serve(last_wait, none_left);
    {
        std::unique_lock held{all->mutex};
        all->over.wait_until(held, until, [&] { return all->left == 0; });
    }
    cluster_->close();
    leases_->close();
    std::vector<claimed> owed;  // after the lock: they may own anything
    std::deque<pending_release> releases;
    std::scoped_lock guard{mutex_};
    releases.swap(releases_);
    for (const auto& [id, who] : claims_)
        std::ranges::move(std::exchange(who->asked_meanwhile, {}), std::back_inserter(owed));
}

}  // namespace mortise::inline v0::stores::etcd
