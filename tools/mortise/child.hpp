// The command as processes: one group, started with what the wrapper had, and nothing of ours.
#pragma once

#include <string>
#include <vector>

#include <signal.h>
#include <sys/types.h>

namespace command {

struct child_terms {
    std::vector<std::string> line;         // looked up in PATH
    std::vector<std::string> environment;  // all of it, NAME=VALUE
    sigset_t mask{};
    int terminal = -1;  // whose foreground the group becomes; -1: none
    bool json = false;  // how a program that cannot be run is reported
};

// Starts it in a process group of its own, whose number is the answer; -1 and errno if there is no process to be had. It
// dies with the calling thread. A program that cannot be run is reported by the child itself, which ends with 126 or 127.
pid_t start_child(const child_terms& terms);

// This process's environment with NAME=VALUE added, or put in the place of what NAME was.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added);

// Whether anything of the group still runs. A dead process that its parent has not waited for does not.
bool group_alive(pid_t group);

}  // namespace command
