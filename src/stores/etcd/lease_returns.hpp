// How leases are given back to etcd: one that is of no more use, and all of them when the client goes.
#pragma once

#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"

#include <mortise/config.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace mortise::inline v0::stores::etcd {

class lease_returns : public std::enable_shared_from_this<lease_returns> {
public:
    lease_returns(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table)
        : parts_(std::move(parts)), table_(std::move(table)) {}

    // How late a request can be has no bound. So a lease with marks is given to no new claim, and revoked once it has no
    // other use: then no late request can do anything, and the marks are gone.
    void retire(const std::shared_ptr<lease>& which);

    // These and the shared ones. Waits for the answers, but not for long: they would end by themselves.
    void revoke_all(std::vector<std::int64_t> going);

private:
    void revoke_when_unused(const std::shared_ptr<lease>& which);

    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
};

}  // namespace mortise::inline v0::stores::etcd
