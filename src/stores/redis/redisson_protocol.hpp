// The locks of Redisson: RLock, the locks of a RReadWriteLock and, if asked for, RFairLock. Keys, channels, and calls of the
// scripts that do what Redisson's do (lua/redisson_*.lua). Pure.
//
// A lock is a hash of owner -> count. Redisson's owners are threads, uuid:N. Ours are claims: the uuid is the claim's id and N is
// 1, so that whoever knows a claim can release it. Whoever enters a lock twice is counted by us, and the count is always 1.
#pragma once

#include "stores/redis/peer_protocol.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

struct redisson_names {
    explicit redisson_names(std::string_view key);

    std::string latch(const claim_id& id) const;       // answers a release that is repeated
    std::string reader(std::string_view owner) const;  // lives as long as the reader's lease
    std::string own_channel(std::string_view owner) const { return channel + ":" + std::string(owner); }  // fair

    std::string tagged;      // {name}
    std::string channel;     // of locks
    std::string rw_channel;  // of read-write locks
    std::string line;        // of a fair lock
    std::string ends;        // until when each in it is waited for
};

std::string redisson_owner(const claim_id& id);

std::unique_ptr<const peer_protocol> make_redisson_protocol(const settings& config);

}  // namespace mortise::inline v0::stores::redis
