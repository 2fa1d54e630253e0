// Threads of the library.
#pragma once

#include <mortise/config.hpp>

#include <functional>
#include <thread>

namespace mortise::inline v0::base {

// Starts a thread with all signals blocked, because signals are for the user's threads. Throws errc::exhausted.
std::thread quiet_thread(const char* name, std::function<void()> work);

}  // namespace mortise::inline v0::base
