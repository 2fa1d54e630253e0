// Locks that their clients keep while they are idle: a keeper hears of whoever asks.
//
//   waits      it writes its key into the folder, which the keeper watches
//   does not   it writes no key; it touches the keeper's, which is in the same folder
//
// Whoever keeps a read does not mind others who come to read. Each who keeps one watches the folder, so to touch the latest of
// their keys is to tell all of them.
#pragma once

#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/config.hpp>

#include <memory>

namespace mortise::inline v0::stores::etcd {

class keepers : public std::enable_shared_from_this<keepers> {
public:
    keepers(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table)
        : parts_(std::move(parts)), table_(std::move(table)) {}

    // Whether it may be kept: it held as its line was when it came, so nobody waits. With the table's mutex held, as is the next.
    static bool may_keep(const claim_record& claim);
    // Of a line that a claim has no place in: its only entry, if a client keeps that; or if all of them read, the latest that a
    // client keeps.
    static const stored_claim* keeper_in(const line_snapshot& found);

    // From its grant on, tells the core when anybody asks for it.
    void listen(const record& claim);
    void ask(const stored_claim& keeper);

private:
    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
};

}  // namespace mortise::inline v0::stores::etcd
