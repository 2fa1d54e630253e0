// What the kernel and the C library give without us: the locks that ours are measured beside.
#pragma once

#include "contender.hpp"

#include <string>

namespace bench {

// flock(2), exclusive. Each thread opens the file for itself, as the kernel's lock belongs to the open file.
contender flock_on(const std::string& file);

// A robust pthread mutex in memory that all processes share. Make it before they start.
contender robust_mutex();

// Not a lock but the least that a hand-over can cost: two processes with one thread each pass a turn to and fro. Who
// has none sleeps in FUTEX_WAIT, who gives it away wakes the other. Make it before they start.
contender futex_ping_pong();

}  // namespace bench
