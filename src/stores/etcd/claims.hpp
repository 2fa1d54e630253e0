// The claims of a client: what base::queued_claim decides is carried out here, as requests to etcd.
//
//   claim --> a lease --> enter the line --> judge what was read (base/line.hpp)
//                              ^                |- holds: granted
//                              |                |- waits: watch those that judge() names
//                              +-- look again <-+    one of them has gone
//
// A claim's key is written by one transaction, which also reads the line; so a free lock is taken in one trip. Whoever was
// woken reads the line once more, and finds its own key there or does not.
//
//   claims --> entrance, line_reader, line_view, line_watch, hold_watch, keepers, removals, lease_returns
//          --> claim_table --> claim_record --> base::queued_claim
#pragma once

#include "base/queued_claim.hpp"
#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"
#include "stores/etcd/entrance.hpp"
#include "stores/etcd/hold_watch.hpp"
#include "stores/etcd/keepers.hpp"
#include "stores/etcd/lease_returns.hpp"
#include "stores/etcd/line_reader.hpp"
#include "stores/etcd/line_watch.hpp"
#include "stores/etcd/removals.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::etcd {

class claims : public std::enable_shared_from_this<claims> {
public:
    explicit claims(std::shared_ptr<client_parts> parts);

    void start();  // once it is shared

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done);
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done);
    void close() noexcept;

    const std::shared_ptr<claim_table>& table() const { return table_; }

private:
    using machine = base::queued_claim;
    using action = base::queued_claim::action;
    using ticket = base::queued_claim::ticket;

    // What follows from an event, with all that belongs to it; carried out when the mutex is let go.
    struct step {
        machine::actions todo{};
        std::vector<spi::reply<spi::claim_answer>> asked{};
        std::vector<spi::reply<spi::release_answer>> released{};
        std::shared_ptr<lease> on{};
        bool kept = false;           // it holds, and its client may keep it while it is idle
        bool behind_keeper = false;  // another client may keep it
    };
    template <class Event>
    void on(const record& claim, Event event, const line_snapshot* found = nullptr);
    void carry_out(const record& claim, step& now, const line_snapshot* found);
    void tell(const record& claim, step& now);
    void remember(std::string_view name, const claim_id& id, spi::release_answer reply);
    spi::claim_answer with_terms(spi::claim_answer reply, const std::shared_ptr<lease>& lease_of_it) const;
    void failed(const record& claim, ticket of, machine::fate what, const spi::claim_answer& why);

    void entered(const record& claim, const action& what, const entrance::result& result);
    void entered_behind(const record& claim, ticket of, const claim_record::neighbour& tail, const txn_reply& read);
    void read(const record& claim, const action& what);
    void wait_behind(const record& claim, ticket of, const line_snapshot& found, const stored_claim& last);
    void turn_of(const record& claim, std::optional<line_snapshot> found);
    void seen(const record& claim, ticket of, const line_snapshot& found,
              std::optional<base::line_verdict> judged = std::nullopt);
    void decide(const record& claim, ticket of, const machine::line_view& view, const line_snapshot& found);
    void exchange(const record& claim, const action& what, const line_snapshot& found);
    void stamp(const record& claim, const action& what, const line_snapshot& found);
    void written(const record& claim, const action& what, const stored_claim& changed, const rpc_result& reply,
                 const txn_reply& read);
    void confirm(const record& claim, ticket of);
    void retry_later(const record& claim, spi::duration pause);
    void old_gone(const record& claim);
    void lease_gone(const std::shared_ptr<lease>& which);

    const std::shared_ptr<client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
    std::shared_ptr<line_reader> reader_;
    std::shared_ptr<entrance> entrance_;
    std::shared_ptr<lease_returns> returns_;
    std::shared_ptr<removals> removals_;
    std::shared_ptr<line_watch> line_watch_;
    std::shared_ptr<hold_watch> holds_;
    std::shared_ptr<keepers> keepers_;
    std::atomic<bool> closed_{false};
};

}  // namespace mortise::inline v0::stores::etcd
