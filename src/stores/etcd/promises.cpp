#include "stores/etcd/promises.hpp"

#include "base/limits.hpp"

namespace mortise::inline v0::stores::etcd {

mortise::promises promises_of(const settings& how) {
    const bool native = how.protocol == settings::layout::native;
    mortise::promises all{
        .store = native ? "etcd" : "etcd, protocol=concurrency",
        .tokens = true,
        .fifo = true,
        .detached = true,
        .leases = true,
        .upgrades = native,
        .processes = true,
        .pushes = true,
        .keeps = native,
        .lists = native,  // keys of others look the same
        .most_capacity = native ? base::most_capacity : 1,
        .default_lease = std::chrono::seconds{30},
        .order =
            "First come, first served. Claims of one client that are on their way at the same time may change places: "
            "etcd takes requests of one connection in any order.",
        .reach = native ? "everybody who reaches the cluster"
                        : "everybody who reaches the cluster, and Go's clientv3/concurrency and etcdctl lock",
        .exclusion = "Yes, also while members fail, as long as a majority keeps what it acknowledged.",
        .fencing = "Yes: a later grant has a larger token, the revision at which its key was created.",
        .freed =
            "At the end of its lease (30 s unless set otherwise), and an election later if the leader changed; at "
            "once with its client.",
        .assumes = {"The clocks of client and server run equally fast to within 1 % (client_options::drift).",
                    "etcd is 3.4.42, 3.5.28, 3.6.9 or newer: leases of older ones have known bugs, most of all after a "
                    "leader stood still."},
        .ends = {"A holder is paused past its lease: another is let in, with a larger token.",
                 "An operator revokes the lease or deletes the key. The holder is told at once.",
                 "A restore from a snapshot. Tokens may be given once more unless it was made with --bump-revision."},
    };
    if (!native) all.ends.emplace_back("A Go client that no longer has its lease and has not noticed: it asks nobody.");
    return all;
}

}  // namespace mortise::inline v0::stores::etcd
