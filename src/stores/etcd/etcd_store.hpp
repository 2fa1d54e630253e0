// Locks on etcd. See README.md for what is promised, and desk.hpp for how it is done.
#pragma once

#include "base/url.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::etcd {

spi::store_factory open(const base::url& address);

}  // namespace mortise::inline v0::stores::etcd
