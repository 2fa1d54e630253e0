// Locks on MySQL and MariaDB. See README.md for what is promised.
#pragma once

#include "base/url.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::mysql {

spi::store_factory open(const base::url& address);

}  // namespace mortise::inline v0::stores::mysql
