// The primitives of the kernel and the C library, on files in the store's directory, for `mortise bench`.
#pragma once

#include "base/url.hpp"
#include "baseline/baseline.hpp"

namespace mortise::inline v0::stores::host {

// flock(2), a robust process-shared mutex, and a futex ping-pong between two processes: the least that a hand-over can cost.
// They use files baseline-* in the store's directory until cleared.
baselines make_baselines(const base::url& address);

}  // namespace mortise::inline v0::stores::host
