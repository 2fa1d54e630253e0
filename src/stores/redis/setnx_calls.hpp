// The lock of redis-py, redsync, redislock and node-redlock: one key, a random value, SET NX PX, compare and delete, compare and
// extend. Keys, and calls of the scripts that do this (lua/setnx_*.lua). Pure.
#pragma once

#include "stores/redis/messages.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// Where a release is remembered, for the case that it is repeated or that its claim arrives later. In the same slot of a cluster
// as the key; none if that cannot be.
std::optional<std::string> setnx_mark_of(std::string_view key, const claim_id& id);

script_call setnx_claim_call(std::string_view key, const claim_id& id, spi::duration lease);
script_call setnx_release_call(std::string_view key, const claim_id& id, bool others_may_repeat);
script_call setnx_renew_call(std::span<const renewal_item> items);

// A lease counts from `sent`. A reply that cannot be read is unknown.
spi::claim_answer read_setnx_claim(const reply& raw, spi::duration lease, spi::time_point sent);

}  // namespace mortise::inline v0::stores::redis
