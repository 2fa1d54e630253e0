// The lock of redis-py, redsync, redislock and node-redlock: one key, a random value, SET NX PX, compare and delete, compare and
// extend. Keys, and calls of the scripts that do this (lua/setnx_*.lua). Pure.
#pragma once

#include "stores/redis/peer_protocol.hpp"
#include "stores/redis/settings.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// Where a release is remembered, for the case that it is repeated or that its claim arrives later. In the same slot of a cluster
// as the key; none if that cannot be.
std::optional<std::string> setnx_mark_of(std::string_view key, const claim_id& id);

std::unique_ptr<const peer_protocol> make_setnx_protocol(const settings& config);

}  // namespace mortise::inline v0::stores::redis
