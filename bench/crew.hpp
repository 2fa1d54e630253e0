// Several processes that work for one measurement.
#pragma once

#include "shared.hpp"

#include <chrono>
#include <functional>
#include <vector>

#include <sys/types.h>

namespace bench {

// Where the kernel may run the processes: where it likes; all on one processor; each on its own, as far as there are
// enough. A wake-up costs far more in the last case, and left alone the kernel wavers between the two.
enum class placement { free, together, apart };

// Each process is a fork of this one, which therefore has no threads and no client of its own. It runs `work`, told its
// number, and ends; it is killed when the crew goes, when this process ends, and by an alarm of its own.
class crew {
public:
    crew(int processes, placement where, const std::function<void(int process)>& work);
    ~crew();
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    // Waits until `met` is true. Throws if a process fails or time runs out.
    void wait_for(const std::function<bool()>& met);

    // Waits until all have ended. Throws if one failed or does not end.
    void finish();

private:
    void look();

    struct complaint {
        char text[256];
    };
    shared<complaint> complaint_;
    std::vector<pid_t> members_;
};

// Sleeps in the midst of a measurement. Throws when the user interrupts the program, so that it can tidy up.
void pause_for(std::chrono::nanoseconds time);

// From now on Ctrl-C, a reader that left and the like end pause_for() and what is built on it.
void heed_interrupts();

}  // namespace bench
