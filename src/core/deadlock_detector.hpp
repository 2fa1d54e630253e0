// Finds deadlocks between the threads of this process, and breaks them. See wait_graph.hpp for the picture.
//
// A call that blocks costs nothing more than a mark; now and then, while any thread is blocked for longer than an instant,
// the clock's thread puts together who waits for what and who holds it. A deadlock does not go away, so a late look finds it
// as well as an early one. Calls with a time limit or a stop_token can end otherwise and are left alone.
#pragma once

#include "core/claim_policy.hpp"
#include "core/requester.hpp"
#include "core/wait_graph.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace mortise::inline v0::core {

class deadlock_detector {
public:
    deadlock_detector(const claim_policy& policy, claim_table& table, requester& requests, store_link& link) noexcept
        : policy_(policy), table_(table), requester_(requests), link_(link) {}

    // Keeps all of the above alive while it is locked. Called once, before anything else.
    void belong_to(std::weak_ptr<hold_keeper> client) noexcept { client_ = std::move(client); }

    // A call of an owner that may hold other locks is about to block.
    void look_later() noexcept;

private:
    struct blocked_call;
    struct everybody;
    void keep_looking(spi::duration pause) noexcept;
    void look(spi::duration pause);
    void add_blocked_calls(std::vector<blocked_call>& found, const std::shared_ptr<deadlock_detector>& self);

    const claim_policy& policy_;
    claim_table& table_;
    requester& requester_;
    store_link& link_;
    std::weak_ptr<hold_keeper> client_;
    std::atomic<bool> looking_{false};
    std::once_flag registered_;
};

}  // namespace mortise::inline v0::core
