// `run`, in two processes: the wrapper, which the user sees, and the guardian, which holds the lock.
//
//   shell -> wrapper -------- channel --------> guardian -> command (a process group of its own)
//            signals, terminal, exit status     client, hold, renewing, the command's life
//
// The guardian is forked before any thread exists, sits in a process group of its own and never stops, so Ctrl-Z stops the
// command and the wrapper but not the renewing. Each notices the other's death by the end of the channel, and then kills
// the command's group; the guardian lets go of the lock only when nothing of the group lives.
#pragma once

#include "channel.hpp"
#include "settings.hpp"
#include "signals.hpp"

#include <mortise/claim.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace command {

struct run_terms {
    mortise::claim wanted{};
    int busy_code = 1;
    std::vector<std::string> line{};  // the command
    command::settings settings{};
    std::optional<std::uint16_t> metrics_port{};
    int terminal = -1;  // the controlling one; -1: none
    pid_t wrapper_group = 0;
    sigset_t mask{};  // of signals, as the command is to have it
};

// The wrapper's part, and that of the guardian, which does not return.
int wrap(const run_terms& terms, const channel& guardian, const signal_source& signals, pid_t guardian_process);
[[noreturn]] void guard(const run_terms& terms, const channel& wrapper);

}  // namespace command
