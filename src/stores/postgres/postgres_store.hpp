// The store for postgres:// addresses.
#pragma once

#include "base/url.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::stores::postgres {

spi::store_factory open(const base::url& address);  // throws errc::bad_url

}  // namespace mortise::inline v0::stores::postgres
