// Threads that take a lock and give it back, as often as they can, for a time.
#pragma once

#include "contender.hpp"
#include "crew.hpp"
#include "histogram.hpp"

#include <chrono>
#include <functional>

namespace bench {

struct contest_shape {
    int processes = 1;
    int threads = 1;  // in each process
    placement where = placement::free;
    // Who has the lock keeps it until somebody else is in lock(). Else two processes on one processor may run for a time
    // slice each and never meet.
    bool contended = false;
    // Looking at the clock costs as much as some locks do. Where nobody waits, one time of so many is looked at.
    int timed_every = 1;
    std::function<void()> inside{};  // what is done between lock() and unlock(); none: nothing

    int lanes() const { return processes * threads; }
};

struct contest_result {
    double grants = 0;            // per second
    double thread_switches = 0;   // per second: grants to another thread than the last
    double process_switches = 0;  // per second: grants to another process than the last
    double least_share = 0;       // of the thread with the fewest grants; 1 is the mean
    double most_share = 0;
    histogram waits{};      // of lock()
    histogram pairs{};      // of lock() and unlock(), if there is but one thread
    histogram handovers{};  // from one thread's calling unlock() to the return of another's lock()
};

contest_result contest(const contender& lock, const contest_shape& shape, std::chrono::nanoseconds time);

// One thread holds the lock, the other sleeps in lock(). After `pause` the first gives the lock back and notes the time; the
// other notes when lock() returned. All over again, `rounds` times. Two processes, or two threads of one.
histogram wake_ups(const contender& lock, const contest_shape& shape, int rounds, std::chrono::nanoseconds pause);

// One process leaves a lock behind that it keeps, and after `pause` another one asks for it: how long until lock() returns. Each
// round with another lock, since one that others ask for is not kept again soon. Two processes.
histogram first_takes(const contender& lock, const contest_shape& shape, int rounds, std::chrono::nanoseconds pause);

// One thread of the first process holds the lock until all others are in lock(); then each that gets it gives it back.
struct drain_result {
    double handovers = 0;  // per second
    histogram waits{};     // from the first unlock() on
};
drain_result drain(const contender& lock, const contest_shape& shape, const std::function<void()>& begins,
                   const std::function<void()>& ended);

}  // namespace bench
