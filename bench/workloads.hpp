// What is done with a lock to measure it.
#pragma once

#include "contender.hpp"
#include "crew.hpp"

#include <chrono>

namespace bench {

// Every thread of every process takes the lock and gives it back, as often as it can, for a time. One thread alone shows
// the cost of a lock nobody else wants; two processes with one each, that of the hand-over.
struct crowd_shape {
    int processes = 1;
    int threads = 1;  // in each process
    placement where = placement::free;
    // Who has the lock keeps it until somebody else is in lock(). Else two processes on one processor may run for a time
    // slice each and never meet.
    bool contended = false;
};
struct crowd_result {
    double grants = 0;            // per second
    double thread_switches = 0;   // per second: grants to another thread than the last
    double process_switches = 0;  // per second: grants to another process than the last
    double least_share = 0;       // of the thread with the fewest grants; 1 is the mean
    double most_share = 0;
};
crowd_result crowd(const contender& lock, const crowd_shape& shape, std::chrono::nanoseconds time);

// One process holds the lock, another sleeps in lock(). After `pause` the first gives the lock back and notes the time;
// the other notes when lock() returned. All over again, `rounds` times (1,000 at most).
struct wake_result {
    double p50 = 0;  // nanoseconds
    double p99 = 0;
};
wake_result wake(const contender& lock, int rounds, std::chrono::nanoseconds pause, placement where);

}  // namespace bench
