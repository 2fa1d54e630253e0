// Redlock: a lock on a majority of independent Redis servers. See README.md.
#pragma once

#include "base/url.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::redlock {

spi::store_factory open(const base::url& address);

}  // namespace mortise::inline v0::stores::redlock
