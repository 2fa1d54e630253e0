// Processes as /proc shows them: what descends from this one, and how to end it.
//
// A process may leave its group and its session, but not its ancestors: `run` is a subreaper (PR_SET_CHILD_SUBREAPER), so one whose
// parent has died becomes its child. Hence nothing descends from us if and only if waitpid(2) finds no child.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace command {

struct process {
    pid_t pid = 0;
    std::string name{};
    char state = 0;  // 'R', 'S', 'D', 'T', 'Z', ..., as in proc(5)
    pid_t parent = 0;
    pid_t group = 0;

    bool ended() const noexcept { return state == 'Z' || state == 'X'; }
    bool stopped() const noexcept { return state == 'T'; }
};

// Nothing: there is none, or it is not shown to us.
std::optional<process> process_at(pid_t pid);

// All that descends from this process and has not ended, without those of `except` and what descends from them. One that is
// being forked may be missing: ask again until waitpid finds none.
std::vector<process> descendants(const std::vector<pid_t>& except = {});

// Between one look and the next, as most end at once and some, of other users, when they like.
class pauses {
public:
    std::chrono::milliseconds next() noexcept { return last_ = std::min(last_ * 2, std::chrono::milliseconds{200}); }

private:
    std::chrono::milliseconds last_{1};
};

// Stops all before it kills any, so that none of them acts on the death of another.
void kill_all(const std::vector<process>& all);

}  // namespace command
