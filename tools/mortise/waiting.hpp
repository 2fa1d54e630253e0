// Telling people what a wait is for: who holds the lock, for how long, our place in the queue.
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

// What one look at the store's list tells a waiter. Pure.
//
// The list says how many wait, not where we stand. We came last, so our first place is their number; from then on each
// change of the holder moves us up by one, and we never stand behind the last.
class place_in_queue {
public:
    struct view {
        std::optional<mortise::holder> holder{};  // of those who hold, the one that has done so for longest
        std::size_t place = 1;
        std::size_t waiting = 0;
    };
    view look(const std::vector<mortise::held_lock>& all, const std::string& name);

private:
    std::optional<mortise::token> last_{};
    std::size_t place_ = 0;
};

std::string line_of(const std::string& name, const place_in_queue::view& seen);

// Looks once a second, in a thread of its own, until told to end. On a terminal it is a live line, drawn while the job, a
// process group, is in the foreground; elsewhere plain lines or JSON, one for each change. The thread may be in the midst of a
// question to the store when it is told to end, so nobody waits for it.
class waiting_display {
public:
    waiting_display(std::shared_ptr<mortise::client> locks, std::string name, bool live, pid_t job, bool as_json);
    ~waiting_display() { end(); }
    waiting_display(const waiting_display&) = delete;
    waiting_display& operator=(const waiting_display&) = delete;
    void end();

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace command
