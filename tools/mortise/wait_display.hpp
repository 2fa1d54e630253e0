// Shows what a wait is for: who holds the lock, for how long, and our place in the queue.
#pragma once

#include <mortise/client.hpp>
#include <mortise/holder.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace command {

// Estimates a waiter's place in the queue from the store's list. Pure.
//
// The list has the number of waiters, not their places. A new waiter is the last one, so its first place is that number; from
// then on each change of the holder moves it up by one, and its place is never larger than the number of waiters.
class queue_position {
public:
    struct view {
        std::optional<mortise::holder> holder{};  // the one that has held for longest
        std::size_t place = 1;
        std::size_t waiting = 0;
    };
    view look(const std::vector<mortise::held_lock>& all, const std::string& name);

private:
    std::optional<mortise::token> last_{};
    std::size_t place_ = 0;
};

std::string line_of(const std::string& name, const queue_position::view& seen);

// Polls the store once a second, in its own thread, until end(). On a terminal it shows a live line while the job, a process
// group, is in the foreground; otherwise it prints lines or JSON, one for each change. The thread may be waiting for the store at
// end(), so nobody joins it.
class wait_display {
public:
    wait_display(std::shared_ptr<mortise::client> locks, std::string name, bool live, pid_t job, bool as_json);
    ~wait_display() { end(); }
    wait_display(const wait_display&) = delete;
    wait_display& operator=(const wait_display&) = delete;
    void end();

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace command
