// What Redis costs without us.
#pragma once

#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/raw_limits.hpp>

namespace mortise::inline v0::stores::redis {

mortise::raw_limits bare_limits(const settings& how);

}  // namespace mortise::inline v0::stores::redis
