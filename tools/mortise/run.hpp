// `run`, in two processes: the wrapper, which the user sees, and the guardian, which holds the lock. (A third, the keeper, waits.)
//
//   shell -> wrapper -------- channel --------> guardian -> command (a process group of its own) -> ...
//            signals, terminal, exit status     client, hold, renewing, the command's life
//
// The guardian is forked before any thread exists, sits in a process group of its own and never stops, so Ctrl-Z stops the
// command and the wrapper but not the renewing. Both are subreapers: what the command starts stays below the guardian, whatever
// group or session it moves to, and below the wrapper should the guardian die. Each notices the other's death, and then kills
// all of it; only then is the lock released, by the guardian, or by the end of the keeper (keeper.hpp).
#pragma once

#include "channel.hpp"
#include "settings.hpp"
#include "signals.hpp"
#include "verbs.hpp"

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
    bool close = false;              // the lock ends with the command; what that started may go on
    bool can_close = true;           // the verb has an option for it
    std::vector<int> descriptors{};  // inherited, for the command
    std::vector<pid_t> strangers{};  // children of the wrapper that are none of ours
    int terminal = -1;               // the controlling one; -1: none
    pid_t wrapper_group = 0;
    sigset_t mask{};  // of signals, as the command is to have it
};

// How a run ended.
struct run_result {
    int code = 0;            // to exit with
    bool started = false;    // the command was
    bool lost = false;       // the lock, before the command had ended
    bool signalled = false;  // it was told to end
};

run_terms run_terms_of(const request& asked);
signal_source signals_of_run();  // all that it passes on; to be made before the first run
// One run, with a guardian of its own.
run_result run_once(const run_terms& terms, const signal_source& signals);

// The wrapper's part, and that of the guardian, which does not return.
run_result wrap(const run_terms& terms, const channel& guardian, const signal_source& signals, pid_t guardian_process);
[[noreturn]] void guard(const run_terms& terms, const channel& wrapper);

}  // namespace command
