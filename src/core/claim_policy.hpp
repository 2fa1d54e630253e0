// What a client decides before it asks its store: whether the store promises what is wanted, which lease and margin a claim
// gets, and how a refusal reads. Pure: no store, no clock.
#pragma once

#include "core/claim_terms.hpp"
#include "core/lease.hpp"

#include <mortise/attempt.hpp>
#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/promises.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>

namespace mortise::inline v0::core {

// A claim that the store may be asked for.
struct settled_claim {
    std::shared_ptr<const claim_terms> terms{};
    std::stop_token stop{};
};

class claim_policy {
public:
    // The options are checked, and have a label; they and the promises outlive the policy.
    claim_policy(const client_options& options, const mortise::promises& promises, std::string shown_as);

    // Throws invalid_name, invalid_option, unsupported or no_token: what a claim like this would be refused for anyway.
    void check(const claim& wanted) const;

    // What the store does not promise. Throws invalid_name or invalid_option.
    std::optional<refusal> objection(const claim& wanted) const;

    // Of a claim that was checked. Takes the strings and the token out of `wanted`.
    settled_claim settled(claim& wanted) const;

    // The lease of a grant, as its holder may count on it.
    core::lease lease_of(const spi::grant& given, const claim_terms& terms) const;

    // "lock 'ticket' (memory:): ..." in front of what there is to say; the reason's own text if that is nothing.
    refusal refuse(std::error_code why, std::string_view name, const std::string& what = {}) const;

    // Why the store's locks cannot be listed; empty: they can.
    std::string cannot_list() const;

    const client_options& options() const noexcept { return options_; }
    bool queues() const noexcept { return promises_.fifo; }  // the store does
    const std::string& label() const noexcept { return *label_; }
    const std::string& shown_as() const noexcept { return shown_as_; }
    // One address is one store. Stores given as objects (spi::make_client) have none, and only a client is like itself.
    bool addressed() const noexcept { return !shown_as_.starts_with('('); }

private:
    std::optional<refusal> not_promised(const claim& wanted) const;
    std::optional<spi::duration> lease_of(const claim_options& o) const;
    unsigned durability_of(const claim_options& o) const;
    bool may_share(const claim& wanted) const;
    bool may_keep(const claim& wanted) const;
    mortise::keep keep_of(const claim& wanted) const;
    spi::duration margin_of(spi::duration lease) const;

    const client_options& options_;
    const mortise::promises& promises_;
    const std::string own_label_;
    const std::shared_ptr<const std::string> label_;  // shows own_label_; copies of it count nothing
    const std::string shown_as_;
};

}  // namespace mortise::inline v0::core
