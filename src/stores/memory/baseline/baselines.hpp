// The primitives of the standard library, for `mortise bench`.
#pragma once

#include "base/url.hpp"
#include "baseline/baseline.hpp"

namespace mortise::inline v0::stores::memory {

// std::mutex, and a ping-pong of two threads over a condition variable.
baselines make_baselines(const base::url& address);

}  // namespace mortise::inline v0::stores::memory
