// Claims that wait for a message, upon which they are asked for again. Pure; its owner guards it.
#pragma once

#include "stores/redis/peer_protocol.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::redis {

// One request of a claim at a time: a message that comes while it is under way has it asked for once more afterwards.
class peer_waiters {
public:
    bool contains(const claim_id& id) const { return claims_.contains(id); }

    // Its channel is about to be listened to, and then it is asked for. False: it waits already. A claim that has no answer for
    // a while is repeated, and may come again before the server has answered that it listens.
    bool add(peer_claim claim, std::string channel);
    // Its channel, if it waited. Whoever gets it leaves the channel.
    std::optional<std::string> remove(const claim_id& id);

    // A message came: the claims that are to be asked for now.
    std::vector<peer_claim> heard(std::string_view channel);
    // Was not granted. Set: it is to be asked for again at once.
    std::optional<peer_claim> answered(const claim_id& id);

private:
    struct waiter {
        peer_claim claim;
        std::string channel;
        bool under_way = true;
        bool again = false;
    };
    std::unordered_map<claim_id, waiter> claims_;
};

}  // namespace mortise::inline v0::stores::redis
