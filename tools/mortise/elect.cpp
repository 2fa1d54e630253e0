// `elect`: a command that runs only while this node leads.
#include "claim_arguments.hpp"
#include "exit_codes.hpp"
#include "metrics.hpp"
#include "report.hpp"
#include "run.hpp"
#include "verbs.hpp"

#include <chrono>
#include <optional>

#include <poll.h>

namespace command {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds before_the_next_try = 1s;

std::vector<option> options_of_elect() {
    std::vector<option> all =
        without(claim_options_and({{'c', "command", "", "COMMAND is one argument for sh -c"}, metrics_option}),
                {"nonblock", "wait", "shared", "exclusive", "permits", "no-renew", "conflict-exit-code"});
    for (option& each : all)
        if (each.name == "lease") each.help = "how soon a leader that cannot be reached is replaced";
    return all;
}

// A pause, in which a signal ends it: nothing is held. Others, like that of a guardian that has ended, do not.
std::optional<int> told_to_end(const signal_source& signals) {
    const auto until = std::chrono::steady_clock::now() + before_the_next_try;
    for (auto left = before_the_next_try; left > 0ms;
         left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now())) {
        pollfd heard{signals.get(), POLLIN, 0};
        ::poll(&heard, 1, static_cast<int>(left.count()));
        while (const auto signal = signals.read()) {
            if (*signal == SIGTSTP) signal_source::stop(SIGTSTP, signal_source::stops::process, [] { return false; });
            if (is_to_end(*signal)) return signal;
        }
    }
    return std::nullopt;
}

int elect(const request& asked) {
    run_terms terms = run_terms_of(asked);
    terms.can_close = false;  // two nodes would have what it started
    const signal_source signals = signals_of_run();
    for (bool led = false;;) {
        const run_result term = run_once(terms, signals);
        if (term.signalled) return term.code;
        // A node that has led and is cut off stands again when it is back. One that never could has a wrong address.
        const bool cut_off = led && !term.started && term.code == static_cast<int>(exit_code::unavailable);
        led = led || term.started;
        if (!term.lost && !cut_off) return term.code;
        if (asked.settings.verbose)
            inform(asked.settings.json, "standing", json{}.add("name", terms.wanted.name),
                   in_quotes(terms.wanted.name) + ": standing for election again");
        if (const auto signal = told_to_end(signals)) return ended_by(*signal);
    }
}

}  // namespace

const verb& elect_verb() {
    static const verb made{
        .name = "elect",
        .summary = "runs a command only while this node leads",
        .usage = "[options] NAME [--] COMMAND [ARGUMENT]...",
        .options = options_of_elect(),
        .words = {.least = 1, .most = 1, .then_command = true, .usage = "NAME -- COMMAND..."},
        .notes =
            "Run it on every node. One of them leads and runs COMMAND; the others wait. A\n"
            "leader that is killed, stopped or cut off is replaced. COMMAND and all it\n"
            "started are stopped before the lead can be lost, so before the next leader's\n"
            "begins; this node then stands again. When COMMAND ends by itself, so does\n"
            "mortise, with its status. COMMAND sees MORTISE_TOKEN, the term.\n",
        .examples = {"mortise elect scheduler -- sh -c 'echo leading, term $MORTISE_TOKEN'",
                     "mortise elect --lease 2s -c scheduler 'exit 0'"},
        .perform = &elect,
    };
    return made;
}

}  // namespace command
