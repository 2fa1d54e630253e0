// The releases that a client has begun and that have not ended: its close waits for them, and audits list them.
#pragma once

#include "base/spare_blocks.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/audit.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::inline v0::core {

class release_log {
public:
    // Counts as a release while it lives. Taken where the release is decided, so that none is overlooked before it is sent.
    class ticket {
    public:
        ticket() noexcept = default;
        explicit ticket(release_log& of) noexcept : of_(&of) { of.count_.fetch_add(1, std::memory_order_relaxed); }
        ticket(ticket&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        ticket& operator=(ticket&& other) noexcept {
            std::swap(of_, other.of_);
            return *this;
        }
        ~ticket() {
            if (of_ != nullptr) of_->ended();
        }

    private:
        release_log* of_ = nullptr;
    };

    // False: some have not ended. Those that begin after this was called wake it, too.
    bool wait_until_empty(spi::duration patience);

    // Those that the store did not answer at once, by the address of the request. The name stays until it is erased.
    void insert(const void* request, const std::string& name, const claim_id& id);
    void erase(const void* request) noexcept;
    std::vector<spi::admitted_claim> unanswered();

private:
    void ended() noexcept;

    std::atomic<int> count_{0};
    std::atomic<bool> awaited_{false};
    std::mutex mutex_;
    std::condition_variable empty_;
    using claim = std::pair<const std::string*, claim_id>;
    using node = std::pair<const void* const, claim>;
    std::unordered_map<const void*, claim, std::hash<const void*>, std::equal_to<>, base::spare_allocator<node>>
        unanswered_;
};

}  // namespace mortise::inline v0::core
