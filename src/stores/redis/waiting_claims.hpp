// Claims of this client that wait in queues, and what it knows of the servers' clocks. Pure; its owner guards it.
//
// A pushed grant is no reply, so its lease cannot be counted from when a request was sent. It says when it was granted on the
// server's clock; what that clock showed when the claim was queued tells how long ago that was.
#pragma once

#include "stores/redis/messages.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::redis {

class waiting_claims {
public:
    bool empty() const noexcept { return claims_.empty(); }

    // Before it is sent, and again whenever it is asked for again.
    void add(const claim_id& id, std::string_view name, unsigned replicas);
    bool remove(const claim_id& id) { return claims_.erase(id) != 0; }

    // A server answered `now` to a request that was sent at `sent`.
    void note_time(const claim_id& id, spi::time_point sent, server_time now);
    // Another server may have taken over, with another clock.
    void forget_times();

    struct pushed_grant {
        // Unset: the server's clock is not known well enough, or replicas have to confirm it; ask.
        std::optional<spi::time_point> counted_from{};
        unsigned replicas = 0;
    };
    // A grant was pushed, and arrived at `now`. One that nobody waits for counts from then: it is only given back.
    pushed_grant judge(const inbox_message& granted, spi::time_point now) const;

    std::map<std::string, std::vector<claim_id>> by_name() const;

private:
    struct waiting_claim {
        std::string name;
        unsigned replicas = 0;
        spi::time_point sent{};
        std::optional<server_time> server_then{};
    };
    std::unordered_map<claim_id, waiting_claim> claims_;
};

}  // namespace mortise::inline v0::stores::redis
