// What the kernel and the C library give without us, met in files of the store's directory.
#pragma once

#include "stores/host/place.hpp"

#include <mortise/raw_limits.hpp>

namespace mortise::inline v0::stores::host {

// flock(2), a robust process-shared mutex, and a futex that two processes pass to and fro: the least that a hand-over can
// cost. Files raw-* in the directory, until cleared.
mortise::raw_limits raw_limits_in(const place& where);

}  // namespace mortise::inline v0::stores::host
