// What the store of one machine promises.
#pragma once

#include <mortise/config.hpp>
#include <mortise/promises.hpp>

namespace mortise::inline v0::stores::host {

mortise::promises promised();

}  // namespace mortise::inline v0::stores::host
