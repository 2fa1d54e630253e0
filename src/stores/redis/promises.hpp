// What Redis promises, depending on how its servers are arranged.
#pragma once

#include "stores/redis/settings.hpp"

#include <mortise/config.hpp>
#include <mortise/promises.hpp>

namespace mortise::inline v0::stores::redis {

mortise::promises promises_of(const settings& config);

}  // namespace mortise::inline v0::stores::redis
