// How claims leave their line. A crowd that gives up at once would be too many requests for etcd: few are on their way at a
// time, and what comes meanwhile waits, and then leaves together.
#pragma once

#include "base/queued_claim.hpp"
#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/client_parts.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::etcd {

class removals : public std::enable_shared_from_this<removals> {
public:
    using removal = base::queued_claim::removal;
    // None: it is not known whether it was done.
    using then = unique_function<void(const std::optional<removal>&)>;
    using marked = unique_function<void(const std::shared_ptr<lease>&)>;

    using turn = unique_function<void(const record&, std::optional<line_snapshot>)>;

    // `left_mark` is told of each lease that a mark was put on; `turn_of` of a claim of ours that stands right behind one
    // that has left, with the line as that was then if it is first; once for each.
    removals(std::shared_ptr<const client_parts> parts, std::shared_ptr<claim_table> table, marked left_mark,
             turn turn_of)
        : parts_(std::move(parts)),
          table_(std::move(table)),
          left_mark_(std::move(left_mark)),
          turn_of_(std::move(turn_of)) {}

    // As the action says. Requests to enter that may be late are kept out by a mark, on the lease that they need; or they end with
    // that lease, if nobody shares it.
    void remove(const record& claim, const base::queued_claim::action& what, then done);

    // A claim that this client knows only the id of.
    void remove_another(std::string_view name, const claim_id& id, then done);

    // Whoever is still owed an answer gets none, and is let go of.
    void close() noexcept;

private:
    struct pending {
        record claim{};
        bool late = false;
        bool again = false;
        bool there = false;
        bool was_held = false;
        bool withdraws = false;  // it is not to be, and is claimed again, perhaps
        std::shared_ptr<lease> on{};
        then done{};
    };

    void send();
    bool may_leave_in_company(const pending& one) const;
    void leave_alone(pending one);
    void hand_on(pending one, const record& next);
    void leave_together(std::vector<pending> some);
    void leave(pending one);
    void take_away(pending one, const stored_claim& its);
    void missing(pending one, removal how);
    void end(pending one, const removal& how);
    void mark_as_released(const claim_id& id, unique_function<void()> after);
    void wipe_floor(const record& claim);

    const std::shared_ptr<const client_parts> parts_;
    const std::shared_ptr<claim_table> table_;
    marked left_mark_;
    turn turn_of_;

    std::mutex mutex_;
    std::deque<pending> waiting_;     // for those on their way to be answered
    std::size_t under_way_ = 0;       // some of them of several claims
    std::size_t most_together_ = 60;  // and two operations each: etcd allows 128, unless told otherwise
};

}  // namespace mortise::inline v0::stores::etcd
