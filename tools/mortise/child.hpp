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
    std::vector<int> descriptors;          // besides the first three, in order; no other is left to it
    sigset_t mask{};
    int terminal = -1;  // whose foreground the group becomes; -1: none
    bool json = false;  // how a program that cannot be run is reported
};

// Starts it in a process group of its own, whose number is the answer; -1 and errno if there is no process to be had. It
// dies with the calling thread. A program that cannot be run is reported by the child itself, which ends with 126 or 127.
pid_t start_child(const child_terms& terms);

// This process's environment with NAME=VALUE added, or put in the place of what NAME was.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added);

// The descriptors besides the first three that whoever started this program left to it, in order. To be asked before any other is
// opened by a library that does not close it on exec.
std::vector<int> inherited_descriptors();

}  // namespace command
