#include "run.hpp"

#include "child.hpp"
#include "claim_arguments.hpp"
#include "descendants.hpp"
#include "failure.hpp"
#include "metrics.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace command {
namespace {

// A shell that becomes us by exec leaves us what it had in the background.
std::vector<pid_t> children_before() {
    siginfo_t none{};
    std::vector<pid_t> all;
    if (::waitid(P_ALL, 0, &none, WEXITED | WNOHANG | WNOWAIT) != 0) return all;
    for (const process& each : descendants()) all.push_back(each.pid);
    return all;
}

int run(const request& asked) {
    const run_terms terms = run_terms_of(asked);
    return run_once(terms, signals_of_run()).code;
}

}  // namespace

signal_source signals_of_run() {
    return signal_source{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD};
}

run_terms run_terms_of(const request& asked) {
    const arguments& given = asked.given;
    run_terms terms{.wanted = claim_of(asked), .busy_code = busy_code_of(given), .settings = asked.settings};
    terms.metrics_port = metrics_port_of(given);
    terms.close = given.has("--close");
    terms.line = given.command;
    if (given.has("--command")) {
        if (terms.line.size() != 1) refuse("-c takes the command as one argument, in quotes");
        terms.line.insert(terms.line.begin(), {"/bin/sh", "-c"});
    }
    if (terms.wanted.options.label.empty()) {
        const std::string& program = given.command.front();
        terms.wanted.options.label =
            given.has("--command") ? "sh" : std::string(first_bytes(program.substr(program.rfind('/') + 1), 64));
    }
    terms.descriptors = inherited_descriptors();
    terms.strangers = children_before();
    return terms;
}

run_result run_once(const run_terms& fixed, const signal_source& signals) {
    run_terms terms = fixed;
    const descriptor terminal{::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
    terms.terminal = terminal.get();
    terms.wrapper_group = ::getpgrp();
    terms.mask = signals.mask_before();
    auto [ours, theirs] = channel::make();
    if (ours.get() < 0) throw failure(exit_code::unavailable, "no file descriptors left; raise ulimit -n");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // should the guardian die, the command becomes ours
    const pid_t guardian = ::fork();
    if (guardian < 0) throw failure(exit_code::unavailable, "cannot start a process; see ulimit -u");
    if (guardian == 0) {
        ours = channel{};
        guard(terms, theirs);
    }
    theirs = channel{};
    return wrap(terms, ours, signals, guardian);
}

const verb& run_verb() {
    static const verb made{
        .name = "run",
        .summary = "runs a command while holding a lock",
        .usage = "[options] NAME [--] COMMAND [ARGUMENT]...",
        .options = claim_options_and({{'c', "command", "", "COMMAND is one argument for sh -c"},
                                      {'o', "close", "", "release when COMMAND ends, even if what it started runs on"},
                                      metrics_option}),
        .words = {.least = 1, .most = 1, .then_command = true, .usage = "NAME -- COMMAND..."},
        .notes =
            "Waits for NAME, runs COMMAND, releases when it and all it started have ended.\n"
            "COMMAND sees MORTISE_NAME, MORTISE_TOKEN and MORTISE_HOLDER (HOST:PID). It and\n"
            "all it started are stopped (TERM, then KILL) before the lock can be lost, and if\n"
            "mortise is killed. Exit: COMMAND's status, 128+n for signal n, 1 NAME is held,\n"
            "64 it would wait for itself, 69 store unreachable, 75 lock lost, 126/127.\n",
        .examples = {"mortise run deploy -- sh -c 'echo token $MORTISE_TOKEN'",
                     "mortise run -n backup -- true || echo busy or failed",
                     "mortise run -w 2s --permits 1/3 pool -- sleep 0.1"},
        .perform = &run,
    };
    return made;
}

}  // namespace command
