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
        .detached = false,  // a node that outlives its session has no end that the servers keep to the second
        .leases = true,
        .upgrades = true,
        .processes = true,
        .pushes = true,
        .lists = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::nullopt,  // a session ends with its process, if later
        .longest_lease = longest,
        .reach = "everybody who reaches the servers",
        .exclusion = "Yes, also when servers fail: a majority has every grant.",
        .fencing = "Yes: a later grant has a larger token (the node's czxid), also after the leader has changed.",
        .freed = "When its session ends, " + base::readable(settings.session) +
                 " (option session) and a tick after it was last heard of; at once with its client.",
        .assumes = {"The clocks of client and servers run equally fast to within 1 %.",
                    "The servers keep what they acknowledged: forceSync is on, or no majority crashes at once."},
        .ends = {"A holder is paused past its session: another is let in, with a larger token.",
                 "An operator deletes a node of the line, restores a snapshot or wipes the servers' data."},
    };
    if (settings.protocol == naming::protocol::curator) {
        all.store = "zookeeper, curator";
        all.upgrades = false;
        all.reach += ", also with Apache Curator";
        all.fencing += " Curator's own holders have none.";
        all.ends.emplace_back("A holder of Curator's goes on working after its session has ended.");
    }
    return all;
}

}  // namespace mortise::inline v0::stores::zookeeper
