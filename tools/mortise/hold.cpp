// `hold`: a lock for as long as somebody keeps our input open.
#include "acquisition.hpp"
#include "claim_arguments.hpp"
#include "failure.hpp"
#include "metrics.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "verbs.hpp"

#include <iostream>

#include <poll.h>
#include <unistd.h>

namespace command {
namespace {

void print(const request& asked, const mortise::hold& mine) {
    std::error_code none;
    const mortise::token token = mine.token(none);
    const std::string shown = none ? "" : to_string(token);
    if (asked.settings.json) {
        json made;
        made.add("name", mine.name()).add("token", shown).add("holder", this_holder());
        std::cout << made.text() << std::endl;
    } else {
        std::cout << shown << std::endl;
    }
    if (!std::cout) throw failure(exit_code::output, "cannot write the token to stdout; the lock was released");
}

// Until the input ends, a signal comes or the lock is lost; false for the last.
bool wait(const inbox& news, const signal_source& signals) {
    while (true) {
        pollfd sources[]{{signals.get(), POLLIN, 0}, {news.get(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        ::poll(sources, std::size(sources), -1);
        if (sources[1].revents != 0) return false;
        if (sources[0].revents != 0) return true;
        char dropped[4096];
        if (sources[2].revents != 0 && ::read(STDIN_FILENO, dropped, sizeof dropped) <= 0) return true;
    }
}

int hold(const request& asked) {
    mortise::claim wanted = claim_of(asked);
    if (wanted.options.label.empty()) wanted.options.label = "mortise hold";
    const signal_source signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    acquisition got = acquire_lock(asked, std::move(wanted), signals);
    if (!got.hold) return got.code;
    print(asked, got.hold);
    const bool kept = wait(*got.news, signals);
    const mortise::release_result how = got.hold.release();
    if (kept && how != mortise::release_result::expired && how != mortise::release_result::taken_over) return 0;
    return report(asked.settings.json, exit_code::lost, in_quotes(asked.given.words.front()) + ": the lock was lost");
}

}  // namespace

const verb& hold_verb() {
    static const verb made{
        .name = "hold",
        .summary = "holds a lock until stdin ends",
        .usage = "[options] NAME",
        .options = claim_options_and({metrics_option}),
        .words = {.least = 1, .most = 1, .usage = "NAME"},
        .notes =
            "Waits for NAME, prints the token, and holds the lock until stdin ends or a\n"
            "signal arrives. Exit: 0, 1 NAME is held, 69 store unreachable, 75 lock lost,\n"
            "128+n for signal n while waiting.\n",
        .examples = {"mortise hold deploy </dev/null", "mortise hold -n deploy --json </dev/null"},
        .perform = &hold,
    };
    return made;
}

}  // namespace command
