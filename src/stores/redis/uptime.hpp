// For how long a server has been running.
#pragma once

#include "stores/redis/router.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <optional>

namespace mortise::inline v0::stores::redis {

// On the connection that claims use. None: it may not be asked (the right +info), or there are several servers.
void ask_uptime(router& servers, spi::reply<std::optional<spi::duration>> done);

}  // namespace mortise::inline v0::stores::redis
