// `host:` — every process of one machine, with no server.
#pragma once

#include "base/url.hpp"

#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::host {

// "host:" or "host:/directory" (see store_directory.hpp). Reading the address touches no disk.
spi::store_factory open(const base::url& address);

}  // namespace mortise::inline v0::stores::host
