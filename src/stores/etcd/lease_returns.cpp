#include "stores/etcd/lease_returns.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace mortise::inline v0::stores::etcd {
namespace {

using std::chrono::milliseconds;

// How often it is asked whether a retired lease is still in use.
constexpr std::chrono::seconds retired_for{10};

// How long a client that goes waits for its leases to be revoked.
constexpr milliseconds last_wait{250};

}  // namespace

void lease_returns::retire(const std::shared_ptr<lease>& which) {
    if (parts_->leases->retire(which)) revoke_when_unused(which);
}

void lease_returns::revoke_when_unused(const std::shared_ptr<lease>& which) {
    spi::clock& clock = parts_->context.clock;
    clock.at(clock.now() + retired_for, [weak = weak_from_this(), which] {
        const auto self = weak.lock();
        if (!self) return;
        self->parts_->cluster->guarded([&] {
            bool used = false;
            {
                const auto held = self->table_->locked();
                used = !self->table_->all_on(which, held).empty();
            }
            if (used) return self->revoke_when_unused(which);
            self->parts_->leases->keep_on(which, false);
            self->parts_->leases->revoke(which->id, {});
        });
    });
}

void lease_returns::revoke_all(std::vector<std::int64_t> going) {
    for (const auto& one : parts_->leases->all_shared()) going.push_back(one->id);
    struct parting {
        std::mutex mutex;
        std::condition_variable over;
        std::size_t left;
    };
    const auto all = std::make_shared<parting>();
    all->left = going.size();
    for (const std::int64_t id : going)
        parts_->leases->revoke(id, [all](const rpc_result&) {
            std::scoped_lock guard{all->mutex};
            if (--all->left == 0) all->over.notify_all();
        });
    const auto until = std::chrono::steady_clock::now() + last_wait;
    const auto none_left = [&] {
        std::scoped_lock guard{all->mutex};
        return all->left == 0;
    };
    parts_->cluster->serve(last_wait, none_left);
    std::unique_lock held{all->mutex};
    all->over.wait_until(held, until, [&] { return all->left == 0; });
}

}  // namespace mortise::inline v0::stores::etcd
