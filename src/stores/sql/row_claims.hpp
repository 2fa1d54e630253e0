// The claims of a client: each has a machine that decides (base/queued_claim.hpp); here its actions become statements, and the
// answers its events.
#pragma once

#include "base/ended_claims.hpp"
#include "base/queued_claim.hpp"
#include "stores/sql/deferred_calls.hpp"
#include "stores/sql/row_claim.hpp"
#include "stores/sql/row_line.hpp"
#include "stores/sql/row_parts.hpp"
#include "stores/sql/row_removals.hpp"
#include "stores/sql/row_waiters.hpp"
#include "stores/sql/row_waker.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::sql {

class row_claims : public std::enable_shared_from_this<row_claims> {
public:
    row_claims(std::shared_ptr<const row_parts> parts, row_waker_factory make_waker);

    void start();  // once it is shared

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done);
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done);
    void close() noexcept;

    // What the world has to say.
    void look(const claim_id& id);                           // it may hold by now
    void pushed(const claim_id& id, std::uint64_t counter);  // it was granted
    void gone(const claim_id& id);                           // its row was removed by somebody else
    void wanted(const claim_id& id);                         // somebody else asks for what is kept
    void reconnected();

    // For the heartbeat: the claims to ask about, and which of them should look.
    std::vector<claim_id> firsts() const;
    void beaten(const std::vector<claim_id>& asked, const std::vector<claim_id>& due, spi::time_point sent);
    bool are_told() const { return !waker_ || waker_->serves(); }

private:
    using machine = base::queued_claim;
    using action = base::queued_claim::action;
    using ticket = base::queued_claim::ticket;

    // All of these with mutex_ held. `line` is the one that was just read, if there is one.
    void run(const row_claim_ptr& claim, const machine::actions& actions, deferred_calls& later,
             const row_line* line = nullptr);
    void request(const row_claim_ptr& claim, const action& what, deferred_calls& later, const row_line* line);
    void tell(const row_claim_ptr& claim, const action& what, deferred_calls& later);
    void enter(const row_claim_ptr& claim, const action& what, deferred_calls& later);
    void read(const row_claim_ptr& claim, ticket of, deferred_calls& later);
    void line_read(const row_claim_ptr& claim, ticket of, std::int64_t most, const result& answer, spi::time_point sent,
                   deferred_calls& later);
    void move(const row_claim_ptr& claim, const action& what, const row_line& line, deferred_calls& later);
    void confirm(const row_claim_ptr& claim, ticket of, deferred_calls& later);
    void remove(const row_claim_ptr& claim, const action& what, deferred_calls& later);
    void send_removals(const std::string& name, deferred_calls& later);
    void removed(const std::string& name, const result& answer, spi::time_point asked, deferred_calls& later);
    void granted(const row_claim_ptr& claim, std::uint64_t counter, spi::time_point ungranted, deferred_calls& later);
    void watch_next(const std::string& name, deferred_calls& later);
    void old_gone(const row_claim_ptr& claim, deferred_calls& later);
    void retry_later(const row_claim_ptr& claim, spi::duration pause);
    row_claim_ptr known(const claim_id& id) const;
    template <class Then>
    void ask(const row_claim_ptr& claim, ticket of, const statement& what, values bound, deferred_calls& later,
             Then then);

    const std::shared_ptr<const row_parts> parts_;
    const row_waker_factory make_waker_;
    std::unique_ptr<row_waker> waker_;
    std::atomic<bool> closed_{false};

    mutable std::mutex mutex_;
    std::unordered_map<claim_id, row_claim_ptr> claims_;
    row_waiters waiters_;

    row_removals leaving_;
    // Many: those of all names, and a client can release thousands of locks a second.
    base::ended_claims<std::size_t{1} << 16> released_;
};

}  // namespace mortise::inline v0::stores::sql
