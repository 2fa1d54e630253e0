// Ends holds: passes them on, or gives them back to the store and says how that went.
#pragma once

#include "core/pending_reply.hpp"
#include "core/requester.hpp"

#include <mortise/config.hpp>
#include <mortise/hold.hpp>

#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

namespace mortise::inline v0::core {

class releaser {
public:
    releaser(claim_table& table, requester& requests, store_link& link, pending_replies& replies, release_log& log)
        : table_(table), requester_(requests), link_(link), replies_(replies), log_(log) {}

    release_result release(const std::shared_ptr<claimant>& call, std::error_code& ec) noexcept;
    void start(const std::shared_ptr<claimant>& call, release_completion done);
    void drop(const std::shared_ptr<claimant>& call) noexcept;  // its hold was destroyed

    // By id, from anywhere.
    release_result release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept;
    void start(std::string_view name, const claim_id& id, release_completion done);

    // Ends all claims; returns when the store has answered the releases, or after `patience`.
    void close(spi::duration patience) noexcept;

private:
    struct parting {
        claim_table::departure left{};
        std::shared_ptr<release_request> request{};  // none: the answer is known
        spi::time_point since{};
    };
    parting begin(const std::shared_ptr<claimant>& call) noexcept;
    void finish(claimant& call, const parting& gone, std::error_code ec) noexcept;
    std::error_code may_not_ask(std::string_view name) const noexcept;
    std::shared_ptr<release_request> send_unknown(std::string_view name, const claim_id& id);
    void wait_for(const std::shared_ptr<release_request>& request, bool was_lost, release_completion done);

    claim_table& table_;
    requester& requester_;
    store_link& link_;
    pending_replies& replies_;
    release_log& log_;
};

}  // namespace mortise::inline v0::core
