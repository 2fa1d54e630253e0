// What host: promises.
#pragma once

#include <mortise/config.hpp>
#include <mortise/promises.hpp>

namespace mortise::inline v0::stores::host {

mortise::promises host_promises();

}  // namespace mortise::inline v0::stores::host
