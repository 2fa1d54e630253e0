#include "stores/redis/promises.hpp"

#include "base/limits.hpp"

#include <string>

namespace mortise::inline v0::stores::redis {

namespace {

// What the keys of others cannot keep.
void limit_to_setnx(mortise::promises& all, const std::string& servers) {
    all.store = "redis setnx" + servers;
    all.tokens = false;
    all.fifo = false;
    all.upgrades = false;
    all.pushes = false;
    all.lists = false;
    all.most_capacity = 1;
    all.reach = "everybody who reaches the servers, and other clients that lock with SET NX PX";
    all.fencing = "No: a key of this protocol has no room for a token.";
    all.freed = "At the end of its lease (30 s unless set otherwise).";
    all.assumes.emplace_back("The other clients delete and extend a key only if it has their own value.");
    all.ends.emplace_back("Another client deletes or overwrites the key.");
}

}  // namespace

mortise::promises promises_of(const settings& config) {
    const bool native = config.protocol == settings::layout::native;
    const bool fails_over = config.shape != settings::topology::single;
    const std::string wait = config.replicas > 0 ? ", wait(" + std::to_string(config.replicas) + ")" : "";
    mortise::promises all{
        .store = "redis",
        .tokens = true,
        .fifo = true,
        .detached = true,
        .leases = true,
        .upgrades = true,
        .processes = true,
        .replicas = true,
        .pushes = true,
        .lists = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::chrono::seconds{30},
        .reach = "everybody who reaches the servers",
    };
    switch (config.shape) {
        case settings::topology::single:
            all.store = "redis single" + wait;
            all.exclusion = "Yes, while the server keeps what it acknowledged.";
            break;
        case settings::topology::sentinel:
            all.store = "redis sentinel" + wait;
            break;
        case settings::topology::cluster:
            all.store = "redis cluster" + wait;
            break;
    }
    if (fails_over && config.replicas == 0)
        all.exclusion = "Not across a failover: the replica that takes over may not have received the grant.";
    if (fails_over && config.replicas > 0)
        all.exclusion =
            "Yes, also across a failover to one of the replicas that acknowledged: with as many as there are, any.";
    all.fencing =
        "Yes: a later grant has a larger token, also after a failover or a restart that lost it, unless the clock of "
        "the server "
        "was set back by more than the outage.";
    all.freed = std::string("At the end of its lease (30 s unless set otherwise); a waiter within 6 s") +
                (fails_over ? ". During a failover nothing is granted." : ".") +
                " If the server's clock is set back, at most a lease after the next claim or waiter looks.";
    all.assumes = {"The clocks of client and server run equally fast to within 1 % (client_options::drift).",
                   "The server does not evict keys (maxmemory-policy noeviction) and its clock is not set forward."};
    if (!fails_over) all.assumes.emplace_back("The server has appendfsync always, or does not crash.");
    if (fails_over && config.replicas > 0)
        all.assumes.emplace_back("The replica that takes over is one that acknowledged.");
    all.ends = {std::string("A holder is paused past its lease: another is let in, ") +
                    (native ? "with a larger token." : "and no token tells."),
                "FLUSHALL, an eviction, a restore from a backup.",
                "The server's clock jumps forward by more than what is left of a lease."};
    if (!fails_over)
        all.ends.emplace_back("The server crashes and starts again without what it had acknowledged.");
    else if (config.replicas == 0)
        all.ends.emplace_back(
            "A master is replaced before its latest writes reached the replica. The old holder is told at its "
            "next renewal, at once after the reconnect.");
    else
        all.ends.emplace_back("A partition or an operator promotes a replica that had not acknowledged.");
    if (!native) limit_to_setnx(all, all.store.substr(std::string_view{"redis"}.size()));
    return all;
}

}  // namespace mortise::inline v0::stores::redis
