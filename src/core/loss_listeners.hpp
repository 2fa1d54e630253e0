// Who is told that a hold was lost: its stop_token, and the user's callbacks.
#pragma once

#include "core/claim_table.hpp"
#include "core/cohort.hpp"
#include "core/notifications.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <stop_token>

namespace mortise::inline v0::core {

class loss_listeners {
public:
    loss_listeners(claim_table& table, notifications& to) noexcept : table_(table), notifications_(to) {}

    std::stop_token token_of(claimant& call);
    void add(const std::shared_ptr<claimant>& call, unique_function<void()> listener);
    void tell(const std::shared_ptr<claimant>& call);

private:
    void tell_here(claimant& call);

    claim_table& table_;
    notifications& notifications_;
};

}  // namespace mortise::inline v0::core
