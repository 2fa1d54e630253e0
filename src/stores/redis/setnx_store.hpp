// protocol=setnx: locks that are shared with redis-py, redsync, redislock, node-redlock and others of their kind.
#pragma once

#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>

namespace mortise::inline v0::stores::redis {

std::unique_ptr<spi::store> make_setnx_store(settings config, const spi::context& context);

}  // namespace mortise::inline v0::stores::redis
