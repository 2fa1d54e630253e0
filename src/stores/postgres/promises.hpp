// What PostgreSQL promises, by strategy.
#pragma once

#include "stores/postgres/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/promises.hpp>

namespace mortise::inline v0::stores::postgres {

mortise::promises promises_of(const settings& settings);  // advisory
mortise::promises promises_of_row(const settings& settings);

}  // namespace mortise::inline v0::stores::postgres
