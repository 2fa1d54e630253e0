#include "run.hpp"

#include "claims.hpp"
#include "failure.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace command {
namespace {

constexpr std::uint32_t all_readers = std::uint32_t{1} << 31;  // the capacity of a shared_mutex

// "2/5": two of five.
void read_permits(const std::string& text, mortise::claim& wanted) {
    const std::size_t slash = text.find('/');
    if (slash == text.npos) refuse("--permits " + in_quotes(text) + " is not K/N, as in 1/5 (one of five)");
    wanted.weight = static_cast<std::uint32_t>(read_number("--permits", text.substr(0, slash), 1, all_readers));
    wanted.capacity = static_cast<std::uint32_t>(read_number("--permits", text.substr(slash + 1), 1, all_readers));
    if (wanted.weight > wanted.capacity) refuse("--permits " + in_quotes(text) + " asks for more than there are");
    wanted.options.order = mortise::order::fifo;  // as counting_semaphore, which it meets on the name
}

void only_one(const arguments& given, std::initializer_list<const char*> options) {
    const char* first = nullptr;
    for (const char* each : options) {
        if (!given.has(each)) continue;
        if (first != nullptr) refuse(std::string(first) + " and " + each + " exclude each other");
        first = each;
    }
}

run_terms read_terms(const request& asked) {
    const arguments& given = asked.given;
    only_one(given, {"--nonblock", "--wait"});
    only_one(given, {"--shared", "--exclusive", "--permits"});
    run_terms terms{.settings = asked.settings};
    terms.wanted = claim_of(asked);
    if (given.has("--shared")) terms.wanted.capacity = all_readers;
    if (given.has("--exclusive")) terms.wanted.capacity = terms.wanted.weight = all_readers;
    if (const auto permits = given.value("--permits")) read_permits(*permits, terms.wanted);
    if (given.has("--no-renew")) {
        if (!given.has("--lease")) refuse("--no-renew needs --lease T: how long the command may take");
        terms.wanted.options.renew = mortise::renew::off;
    }
    if (given.has("--nonblock")) terms.wanted.options.wait = std::chrono::nanoseconds::zero();
    if (const auto code = given.value("--conflict-exit-code"))
        terms.busy_code = static_cast<int>(read_number("-E", *code, 0, 255));
    terms.line = given.command;
    if (given.has("--command")) {
        if (terms.line.size() != 1) refuse("-c takes the command as one word, in quotes");
        terms.line.insert(terms.line.begin(), {"/bin/sh", "-c"});
    }
    if (terms.wanted.options.label.empty()) {
        const std::string& program = given.command.front();
        terms.wanted.options.label =
            given.has("--command") ? "sh" : program.substr(program.rfind('/') + 1).substr(0, 64);
    }
    return terms;
}

int run(const request& asked) {
    run_terms terms = read_terms(asked);
    const descriptor terminal{::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)};
    terms.terminal = terminal.get();
    terms.wrapper_group = ::getpgrp();

    auto [ours, theirs] = channel::make();
    if (ours.get() < 0) throw failure(exit_code::unavailable, "no descriptors left; raise ulimit -n");
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // should the guardian die, the command becomes ours
    const signal_source signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT};
    terms.mask = signals.mask_before();
    const pid_t guardian = ::fork();
    if (guardian < 0) throw failure(exit_code::unavailable, "cannot start a process; see ulimit -u");
    if (guardian == 0) {
        ours = channel{};
        guard(terms, theirs);
    }
    theirs = channel{};
    return wrap(terms, ours, signals, guardian);
}

}  // namespace

const verb& run_verb() {
    static const verb made{
        .name = "run",
        .summary = "runs a command while holding a lock",
        .usage = "[options] NAME [--] COMMAND [ARGUMENT]...",
        .options =
            {
                {'n', "nonblock", "", "do not wait: exit with 1 if NAME is held"},
                {'w', "wait", "T", "wait at most T (2, 0.5, 2s, 200ms); else for ever"},
                {'s', "shared", "", "as one of many readers"},
                {'x', "exclusive", "", "as the writer beside such readers"},
                {0, "permits", "K/N", "as K of at most N"},
                {'E', "conflict-exit-code", "N", "exit with N instead of 1 when held"},
                {0, "lease", "T", "what the lock lasts when it cannot be renewed"},
                {0, "no-renew", "", "never renew: the command may take the lease"},
                {0, "label", "TEXT", "shown to those who wait; else the program's name"},
                {'c', "command", "", "COMMAND is one word for sh -c"},
            },
        .words = {.least = 1, .most = 1, .then_command = true, .usage = "NAME -- COMMAND..."},
        .notes =
            "Waits for NAME, runs COMMAND, and lets go when it and its process group are gone.\n"
            "COMMAND sees MORTISE_NAME, MORTISE_TOKEN and MORTISE_HOLDER. It is stopped (TERM,\n"
            "then KILL) before the lock can be lost. Exit: COMMAND's status, 128+n, 1 held,\n"
            "69 store unreachable, 75 lock lost, 126 and 127 as in a shell.\n",
        .examples = {"mortise run deploy -- sh -c 'echo token $MORTISE_TOKEN'",
                     "mortise run -n backup -- true || echo busy or failed",
                     "mortise run -w 2s --permits 1/3 pool -- sleep 0.1"},
        .perform = &run,
    };
    return made;
}

}  // namespace command
