// Locks on Redis. See README.md for what is promised, and lua/ for the rules.
#pragma once

#include "base/url.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::redis {

spi::store_factory open(const base::url& address);

}  // namespace mortise::inline v0::stores::redis
