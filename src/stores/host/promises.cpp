#include "stores/host/promises.hpp"

#include "base/limits.hpp"

#include <optional>

namespace mortise::inline v0::stores::host {

mortise::promises host_promises() {
    return {
        .store = "host",
        .tokens = true,
        .fifo = true,
        .detached = true,
        .leases = true,
        .upgrades = true,
        .processes = true,
        .pushes = true,
        .keeps = true,
        .lists = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::nullopt,  // the kernel tells when a holder died
        .reach = "processes of one machine",
        .exclusion =
            "Yes, also for a holder that is stopped: without a lease it keeps its lock while its process lives.",
        .fencing = "Yes: a later grant has a larger token, also after the machine was restarted.",
        .freed = "Within milliseconds of its process's death.",
        .assumes = {"One kernel: the directory is on a local file system."},
        .ends = {"The files are deleted or replaced while in use.", "The directory is on a network file system.",
                 "A hold with a lease is paused past it: another is let in, with a larger token."},
    };
}

}  // namespace mortise::inline v0::stores::host
