// What the standard library gives threads without us.
#pragma once

#include <mortise/raw_limits.hpp>

namespace mortise::inline v0::stores::memory {

// std::mutex, and a turn that two threads pass to and fro over a condition variable.
mortise::raw_limits bare_limits();

}  // namespace mortise::inline v0::stores::memory
