// The first lease of a grant that a store pushes: it may never reach its client, whose first renewal confirms it.
#pragma once

#include <mortise/config.hpp>

#include <chrono>

namespace mortise::inline v0::base {

inline constexpr std::chrono::seconds push_grace{3};

}  // namespace mortise::inline v0::base
