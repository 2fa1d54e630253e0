// Keeps holds alive: those of this client by its leases, those of others by their ids.
#pragma once

#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::etcd {

class renewals : public std::enable_shared_from_this<renewals> {
public:
    renewals(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table)
        : parts_(std::move(parts)), table_(std::move(table)) {}

    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done);

private:
    using then = unique_function<void(spi::renewal_answer)>;

    void extend(std::string name, const claim_id& id, spi::duration life, then done);
    void keep_or_move(const stored_claim& its, spi::duration life, const claim_id& id, then done);
    void move_to_longer(stored_claim found, spi::duration life, const claim_id& id, then done);

    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
};

}  // namespace mortise::inline v0::stores::etcd
