// An actor, as the director sees it.
#pragma once

#include "lab/stage/trace.hpp"

#include <chrono>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace lab {

class director;

// The play cannot go on: an actor, or a server, does not do its part. Says nothing of the lock.
struct void_play : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class player {
public:
    ~player();
    player(const player&) = delete;
    player& operator=(const player&) = delete;

    // Lets it go on until it stands at one of these points, waits in line, or ends. True: it stands at one of them. One that still
    // waits stays there.
    bool run_to(std::initializer_list<std::string_view> points);
    bool run_to(std::string_view point) { return run_to({point}); }
    void run() { run_to({}); }  // to its end, or until it waits

    // The same for one that waits in line and is about to be granted the lock: does not return before it has it. One that stands
    // there already stays.
    bool await(std::initializer_list<std::string_view> points);
    bool await(std::string_view point) { return await({point}); }

    // The same for one whose server lets it wait: time passes until it goes on.
    void begin(std::string_view point);

    void crash();  // SIGKILL, where it stands
    void stop();   // SIGSTOP: nothing of it runs, not even a watchdog
    void resume();

    bool ended() const { return state_ == state::ended; }
    bool waits() const { return state_ == state::waiting; }
    const std::string& name() const { return name_; }

private:
    friend class director;
    enum class state { standing, running, asking, waiting, ended };

    player(director& stage, std::string name, pid_t pid, int control, int ticks);
    bool go_on(std::initializer_list<std::string_view> points, bool returns_when_waiting);
    void let_go();
    void let_ask();
    bool waits_in_server();  // or it says something
    event next();            // what it says
    void hear(bool all);     // what it has said by now
    void note(event what);
    std::chrono::nanoseconds next_moment() const;  // when something happens to it by itself
    bool asks_clock(char how);
    void tick(char how);  // its timers run, and everything that this set off is answered

    director& stage_;
    const std::string name_;
    const pid_t pid_;
    const int control_;
    const int ticks_;
    state state_ = state::standing;
    std::string stands_at_{};
    int waits_before_ = 0;  // how many waited in the server when it asked
    bool has_clock_ = false;
    bool stopped_ = false;
    bool holds_ = false;
    bool unanswered_ = false;  // a server owes its clock an answer
    std::chrono::nanoseconds next_timer_ = std::chrono::nanoseconds::max();
    std::chrono::nanoseconds valid_until_ = std::chrono::nanoseconds::max();
};

}  // namespace lab
