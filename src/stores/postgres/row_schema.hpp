// What an administrator runs before the first use of strategy=row if the user of the locks may not.
#pragma once

#include "stores/postgres/settings.hpp"

#include <mortise/config.hpp>

#include <string>

namespace mortise::inline v0::stores::postgres {

std::string row_schema(const settings& settings);

}  // namespace mortise::inline v0::stores::postgres
