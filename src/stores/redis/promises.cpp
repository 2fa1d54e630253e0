#include "stores/redis/promises.hpp"

#include "base/limits.hpp"

#include <string>

namespace mortise::inline v0::stores::redis {

namespace {

// What the keys of others cannot keep.
void limit_to_peers(mortise::promises& all) {
    all.tokens = false;
    all.raises_tokens = false;
    all.fifo = false;
    all.upgrades = false;
    all.keeps = false;
    all.lists = false;
    all.freed = "At the end of its lease (30 s unless set otherwise).";
}

void limit_to_setnx(mortise::promises& all, const std::string& servers) {
    limit_to_peers(all);
    all.store = "redis setnx" + servers;
    all.pushes = false;
    all.most_capacity = 1;
    all.reach = "everybody who reaches the servers, and other clients that lock with SET NX PX";
    all.fencing = "No: a key of this protocol has no room for a token.";
    all.assumes.emplace_back("The other clients delete and extend a key only if it has their own value.");
    all.ends.emplace_back("Another client deletes or overwrites the key.");
}

void limit_to_redisson(mortise::promises& all, const settings& config, const std::string& servers) {
    limit_to_peers(all);
    all.store = std::string("redis redisson") + (config.fair ? " fair" : "") + servers;
    all.fifo = config.fair;
    if (config.fair) {
        all.most_capacity = 1;
        all.freed +=
            " A waiter that dies next in line keeps the others waiting for five minutes (fair_wait), as one of "
            "Redisson does.";
        all.assumes.emplace_back(
            "The clocks of Redisson's hosts agree with the server's: they say when a waiter is given up.");
    } else {
        all.order = "Whoever asks first when it is free, readers and writers alike, as with Redisson.";
    }
    all.reach = "everybody who reaches the servers, and Redisson's clients";
    all.fencing = "No: a lock of Redisson has no token.";
    all.assumes.emplace_back("Redisson renews and releases only what is its own.");
    all.ends.emplace_back("Somebody deletes or changes the hash, or forces it open with forceUnlock().");
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
        .keeps = true,
        .lists = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::chrono::seconds{30},
        .reach = "everybody who reaches the servers",
    };
    switch (config.shape) {
        case settings::topology::single:
            all.store = "redis single" + wait;
            all.raises_tokens = true;
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
    if (native)
        all.order =
            "First come, first served. A claim whose connection breaks while it waits, or that does not answer its "
            "grant within 3 s, or its lease if that is shorter, loses its place.";
    const std::string servers = all.store.substr(std::string_view{"redis"}.size());
    if (config.protocol == settings::layout::setnx) limit_to_setnx(all, servers);
    if (config.protocol == settings::layout::redisson) limit_to_redisson(all, config, servers);
    return all;
}

}  // namespace mortise::inline v0::stores::redis
