// One claim of this client, from its first request to its release.
#pragma once

#include "base/queued_claim.hpp"
#include "stores/etcd/lease_pool.hpp"
#include "stores/etcd/requests.hpp"
#include "stores/etcd/watcher.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::etcd {

struct claim_record {
    explicit claim_record(const base::queued_claim::rules& of) : machine(of) {}

    // These never change.
    std::string name{};
    claim_id id{};       // as the core knows it
    claim_id line_id{};  // as the line has it
    claim_keys at{};
    std::optional<unsigned> slot{};  // the number of its key, if that is used again
    spi::duration life{};            // as asked for
    bool own_lease = false;          // it needs one to itself
    bool renewed = true;
    bool detached = false;

    // These are guarded by the claim table's mutex.
    base::queued_claim machine;
    std::vector<spi::reply<spi::claim_answer>> asked{};
    std::vector<spi::reply<spi::release_answer>> released{};
    stored_claim mine{};  // what is written
    std::shared_ptr<lease> on{};
    bool was_held = false;
    std::int64_t seen_at = 0;       // the revision at which its key was last seen in the line
    std::uint64_t arrived = 0;      // and at which it came; 0: it has not been seen
    std::int64_t line_read_at = 0;  // the revision at which the line was last read
    bool few_wait = false;          // in its line
    bool read_whole = false;        // what is near does not tell how it stands
    std::vector<watcher::number> watches{};
    std::vector<claim_id> watched{};  // while it waits: whose keys these are on
    watcher::number listens = 0;      // while it is held, and may be kept: who asks
    bool behind_keeper = false;       // as it was last read

    // While it waits in a long line: these need be there, itself the first, for nothing to have changed.
    struct neighbour {
        std::string key;
        std::uint64_t created;
    };
    std::vector<neighbour> neighbours{};
    spi::standing standing{};  // as it was read
    spi::time_point read_at{};

    // The claim of this client that stands right behind it, where both came at these revisions. In a line that does not change:
    // nobody comes between two who wait.
    struct follower {
        std::weak_ptr<claim_record> claim;
        std::uint64_t behind;
        std::uint64_t arrived;
    };
    follower followed_by{};
    bool being_handed = false;              // that one is leaving, and tells it
    std::optional<line_snapshot> handed{};  // the line as that one left it
};

using record = std::shared_ptr<claim_record>;

}  // namespace mortise::inline v0::stores::etcd
