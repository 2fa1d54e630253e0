// One claim of this client, from its first request to its release.
#pragma once

#include "base/line.hpp"
#include "base/queued_claim.hpp"
#include "stores/sql/deferred_calls.hpp"
#include "stores/sql/row_line.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::sql {

// A grant that is pushed is not believed in for as long as the server keeps it (base/push_grace.hpp), but for so long: if the
// client's session ends, the server need not keep it longer either.
inline constexpr std::chrono::milliseconds push_trust{900};

struct row_claim {
    static std::shared_ptr<row_claim> made_for(const spi::claim_request& wanted);
    // One that another client made, and that is to leave.
    static std::shared_ptr<row_claim> of_another(std::string_view name, const claim_id& id);

    explicit row_claim(const base::queued_claim::rules& rules) : machine(rules) {}

    std::string name{};
    base::line_entry entry{};  // as it was asked for
    spi::duration lease{};
    std::string label{};
    spi::duration grace{};  // how long it lasts if it is granted while it waits, until it is renewed
    spi::duration trust{};  // how long it is believed in then
    bool detached = false;  // outlives this client
    bool queues = false;    // as it was last asked for
    bool keeps = false;     // its client would keep it while it is idle

    base::queued_claim machine;  // what to do next

    bool confirmed = false;          // its row says that it was granted
    spi::time_point counted_from{};  // a time before that
    bool pushed = false;             // and is yet to be renewed
    bool told = false;               // the server tells us when somebody else asks
    bool behind_keeper = false;      // whoever holds keeps it while it is idle, and was told of us
    bool read_whole = false;         // what is near does not tell how it stands
    bool look_due = false;           // it has to be read anew, for something has happened
    std::uint64_t stands = 0;        // where it was seen in its line
    claim_id before{};               // a claim of another client that was seen before it, or none
    spi::time_point ungranted{};     // when it was last found to wait

    std::vector<spi::reply<spi::claim_answer>> claimers{};
    std::vector<spi::reply<spi::release_answer>> releasers{};

    void answer(const spi::claim_answer& reply, deferred_calls& later);
    void answer_release(spi::release_answer reply, deferred_calls& later);
    spi::grant grant(std::uint64_t counter) const;
};
using row_claim_ptr = std::shared_ptr<row_claim>;

base::queued_claim::rules rules_of(const base::line_entry& claim);

// What a line says about a claim. `leaves` tells which claims of this client are on their way out. None if more of the line has
// to be read.
std::optional<base::queued_claim::line_view> view_of(const row_claim& claim, const row_line& line,
                                                     const std::function<bool(const claim_id&)>& leaves);

}  // namespace mortise::inline v0::stores::sql
