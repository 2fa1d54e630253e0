#include "stores/zookeeper/promises.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"
#include "stores/zookeeper/session_window.hpp"

#include <chrono>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

mortise::promises promises_of(const settings& settings) {
    const std::chrono::nanoseconds longest = session_window::lease_of(settings.session);
    mortise::promises all{
        .store = "zookeeper",
        .tokens = true,
        .fifo = true,
        .detached = false,  // a node that outlives its session (TTL) is removed up to a minute late
        .leases = true,
        .upgrades = true,
        .processes = true,
        .pushes = true,
        .keeps = true,
        .lists = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::nullopt,  // a session ends with its process, after its timeout
        .longest_lease = longest,
        .reach = "everybody who reaches the servers",
        .exclusion = "Yes, also when servers fail: a majority has every grant.",
        .fencing = "Yes: a later grant has a larger token (the node's czxid), also after the leader has changed.",
        .freed = "When its session expires: " + base::readable(settings.session) +
                 " (option session) and a tick after the servers last heard from it; at once if its client closes.",
        .assumes = {"The clocks of client and servers run equally fast to within 1 %.",
                    "The servers keep what they acknowledged: forceSync is on, or no majority crashes at once."},
        .ends = {"A holder is paused beyond its session timeout: the next one gets the lock, with a larger token.",
                 "An operator deletes the node of a claim, restores a snapshot or wipes the servers' data."},
    };
    if (settings.protocol == naming::protocol::curator) {
        all.store = "zookeeper, curator";
        all.upgrades = false;
        all.keeps = false;
        all.reach += ", also with Apache Curator";
        all.fencing += " Holders that use Curator have none.";
        all.ends.emplace_back("A holder that uses Curator goes on working after its session has expired.");
    }
    return all;
}

}  // namespace mortise::inline v0::stores::zookeeper
