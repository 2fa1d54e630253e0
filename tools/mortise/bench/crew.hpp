// Several processes that work for one measurement.
#pragma once

#include "shared.hpp"

#include <chrono>
#include <functional>
#include <stdexcept>
#include <vector>

#include <sys/types.h>

namespace bench {

// Where the kernel may run the threads: where it likes; all on one processor; each on its own, as far as there are
// enough. A wake-up costs far more in the last case, and left alone the kernel wavers between the two.
enum class placement { free, together, apart };

// For the calling thread, and those it starts from now on.
void settle(placement where, int number);

// Each process is a fork of this one, which therefore has no threads, and no client that was used. It runs `work`, told
// its number, and ends; it is killed when the crew goes, when this process ends, and by an alarm of its own.
class crew {
public:
    crew(int processes, const std::function<void(int process)>& work,
         std::chrono::seconds patience = std::chrono::seconds{30});
    ~crew();
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    // Ends the process of a crew that calls it, and says why.
    [[noreturn]] static void fail(const char* why) noexcept;

    // Waits until `met` is true. Throws if a process fails, naming it, or if patience runs out.
    void wait_for(const std::function<bool()>& met);

    // Waits for a time. Throws as soon as a process fails.
    void pause(std::chrono::nanoseconds time);

    // Waits until all have ended. Throws if one failed or does not end.
    void finish();

private:
    void look();

    struct complaint {
        char text[256];
    };
    struct member {
        int number;
        pid_t pid;
    };
    static complaint* heard_;  // in the process of a crew
    shared<complaint> complaint_;
    std::vector<member> members_;
    const std::chrono::seconds patience_;
};

// The user wants the program to end.
class interrupted : public std::runtime_error {
public:
    explicit interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
    int signal() const noexcept { return signal_; }

private:
    int signal_;
};

// Sleeps in the midst of a measurement. Throws `interrupted` when the user wants the program to end, so that it can tidy up.
void pause_for(std::chrono::nanoseconds time);

// From now on Ctrl-C, a reader that left and the like end pause_for() and what is built on it.
void heed_interrupts();

}  // namespace bench
