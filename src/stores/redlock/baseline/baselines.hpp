// Redlock without Mortise, for `mortise bench`.
#pragma once

#include "base/url.hpp"
#include "baseline/baseline.hpp"

namespace mortise::inline v0::stores::redlock {

baselines make_baselines(const base::url& address);

}  // namespace mortise::inline v0::stores::redlock
