// strategy=advisory: the server's own locks and its own queue.
#pragma once

#include "stores/postgres/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <memory>

namespace mortise::inline v0::stores::postgres {

std::unique_ptr<spi::store> make_advisory_store(const settings& settings, const spi::context& context);

}  // namespace mortise::inline v0::stores::postgres
