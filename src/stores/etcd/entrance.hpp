// How claims enter their line: with a lease, and by one transaction, which also reads the line.
#pragma once

#include "base/queued_claim.hpp"
#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"
#include "stores/etcd/requests.hpp"
#include "stores/etcd/rpc_result.hpp"

#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <memory>
#include <optional>

namespace mortise::inline v0::stores::etcd {

class entrance : public std::enable_shared_from_this<entrance> {
public:
    struct result {
        bool sent = false;  // false: it got no lease, and the reply is that
        rpc_result reply{};
        txn_reply read{};
        std::optional<claim_record::neighbour> behind{};  // it was put behind this one, and the line was not read
    };
    using then = unique_function<void(const result&)>;

    entrance(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table)
        : parts_(std::move(parts)), table_(std::move(table)) {}

    // As the action says.
    void enter(const record& claim, const base::queued_claim::action& what, then done);

private:
    void send(const record& claim, const base::queued_claim::action& what, then done);

    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
};

}  // namespace mortise::inline v0::stores::etcd
