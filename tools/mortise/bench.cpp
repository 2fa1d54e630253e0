// `bench`: how fast a store's locks are.
#include "tools/mortise/bench/bench.hpp"

#include "failure.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "tools/mortise/bench/crew.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <iostream>

namespace command {
namespace {

bench::options options_of(const request& asked) {
    bench::options how;
    for (const std::string& word : asked.given.words) {
        const auto known = bench::workloads();
        if (std::find(known.begin(), known.end(), word) != known.end()) {
            how.workloads.push_back(word);
        } else if (word.find(':') != word.npos && asked.given.has("--compare")) {
            if (holds_secret(word))
                refuse(
                    "bench: every user of this machine can read a password on the command line; give one store with "
                    "--store-file or MORTISE_STORE instead");
            how.stores.push_back(word);
        } else {
            const std::string_view meant = nearest(word, known);
            refuse("bench: there is no workload " + in_quotes(word) +
                   (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?") + " (mortise bench --help)");
        }
    }
    if (asked.given.has("--compare") && how.stores.size() < 2)
        refuse("bench: --compare needs two or more stores, as in --compare memory: host:");
    if (how.stores.empty()) how.stores.push_back(asked.settings.store);
    how.json = asked.settings.json;
    how.check = asked.given.has("--check");
    how.svg = asked.given.value("--svg").value_or("");
    how.quick = asked.given.has("--quick");
    if (how.quick) {
        how.runs = 2;
        how.time = std::chrono::milliseconds{20};
    }
    if (const auto seconds = asked.given.value("--seconds")) {
        how.time = read_duration("--seconds", *seconds);
        if (how.time < std::chrono::milliseconds{1} || how.time > std::chrono::minutes{10})
            refuse("bench: --seconds must be 0.001 to 600, the duration of one run");
    }
    return how;
}

int perform(const request& asked) {
    bench::options how = options_of(asked);
    live_line line;
    if (is_terminal(STDERR_FILENO)) how.progress = [&](const std::string& what) { line.draw(what); };
    struct erased {
        live_line& line;
        ~erased() { line.end(); }
    } const at_the_end{line};
    try {
        if (bench::run(how, std::cout)) return 0;
    } catch (const bench::interrupted& e) {
        return ended_by(e.signal());
    }
    line.end();
    return report(how.json, 1, "bench: a target was missed");
}

}  // namespace

const verb& bench_verb() {
    static const verb made{
        .name = "bench",
        .summary = "measures the store's locks and its baseline",
        .usage = "[WORKLOAD...] [--compare URL URL...]",
        .options = {{0, "compare", "", "arguments with a colon are stores to compare"},
                    {0, "seconds", "N", "duration of one contended run; default 0.3"},
                    {0, "svg", "FILE", "plot the distribution of waits"},
                    {0, "quick", "", "short runs, to try it; the figures mean little"},
                    {0, "check", "", "exit 1 if a figure misses its target"}},
        .words = {.least = 0, .most = 40, .usage = "[WORKLOAD...]"},
        .notes =
            "WORKLOAD: uncontended, parallel, contended, processes, readers, handoff,\n"
            "holding, crowd, and million, which takes a quarter of an hour and has to be\n"
            "named; default: all others, or with --compare one table of the stores: their\n"
            "figures, in time and in trips to the server, and their promises. Median of 5\n"
            "alternating runs; the longest wait is p99.9.\n",
        .examples = {"mortise bench uncontended --quick", "mortise bench --compare memory: host: --quick"},
        .perform = &perform,
    };
    return made;
}

}  // namespace command
