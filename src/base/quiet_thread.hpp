// Threads of the library's own.
#pragma once

#include <mortise/config.hpp>

#include <functional>
#include <thread>

namespace mortise::inline v0::base {

// Starts a thread that takes no signals: those are meant for the user's threads. Throws errc::exhausted.
std::thread quiet_thread(const char* name, std::function<void()> work);

}  // namespace mortise::inline v0::base
