// `once`: a command that every node's cron starts and one of them runs.
#include "claim_arguments.hpp"
#include "enclosing_runs.hpp"
#include "failure.hpp"
#include "report.hpp"
#include "run.hpp"
#include "store_client.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include <mortise/patterns/once_per_period.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace command {
namespace {

using std::chrono::nanoseconds;

std::vector<option> options_of_once() {
    std::vector<option> all =
        without(claim_options_and({{0, "every", "T", "the period: 1h, 30m, 1d is 24h; at most 24 h less the slack"},
                                   {0, "slack", "T", "how much earlier the next may begin; default a tenth"},
                                   {'c', "command", "", "COMMAND is one argument for sh -c"},
                                   {'o', "close", "", "let the next run begin even if what COMMAND started runs on"}}),
                {"nonblock", "wait", "shared", "exclusive", "permits", "no-renew"});
    for (option& each : all)
        if (each.name == "conflict-exit-code") each.help = "exit N instead of 0 if another node has run it";
    return all;
}

struct period {
    nanoseconds every;
    nanoseconds slack;
};

period period_of(const arguments& given) {
    const auto every = given.value("--every");
    if (!every) refuse("--every is missing: how often is it to run? For example --every 1h");
    period one{.every = read_duration("--every", *every), .slack = {}};
    const auto slack = given.value("--slack");
    one.slack = slack ? read_duration("--slack", *slack) : one.every / 10;
    if (slack && one.every > one.every.zero() && one.slack >= one.every) refuse("--slack must be shorter than --every");
    const nanoseconds kept = one.every - one.slack;
    if (kept < mortise::once_per_period::shortest || kept > mortise::once_per_period::longest)
        refuse("--every less --slack is " + readable(kept) + "; it must be " +
               readable(mortise::once_per_period::shortest) + " to " + readable(mortise::once_per_period::longest));
    return one;
}

int make_mark(const request& asked, const mortise::claim& wanted, const period& one) {
    try {
        const auto locks = client_of(asked.settings);
        require_shared_store(*locks);
        require_detached_claims(*locks);
        refuse_self_wait(*locks, wanted);  // before the period is spent
        const mortise::attempt got = locks->try_acquire(mortise::once_per_period::mark_of(wanted.name),
                                                        {.lease = one.every - one.slack,
                                                         .renew = mortise::renew::off,
                                                         .kept_by = mortise::kept_by::lease,
                                                         .label = std::string(wanted.options.label)});
        const int code = static_cast<int>(got ? exit_code::done : code_of(got.reason()));
        if (!got && code != static_cast<int>(exit_code::busy))
            report(asked.settings.json, code, wanted.name, got.refusal());
        return code;
    } catch (const failure& e) {
        return report(asked.settings.json, e.code(), e.what());
    } catch (const mortise::error& e) {
        return report(asked.settings.json, code_of(e.code()), e.what());
    } catch (const std::exception& e) {
        return report(asked.settings.json, exit_code::unavailable, e.what());
    }
}

// Until the maker has ended. A signal that is to end this process ends the maker first: nobody would run the command.
int await_mark(const request& asked, const std::string& name, pid_t maker, const signal_source& signals) {
    for (int status = 0;;) {
        pollfd heard{signals.get(), POLLIN, 0};
        ::poll(&heard, 1, -1);
        while (const auto signal = signals.read()) {
            if (*signal == SIGTSTP) signal_source::stop(SIGTSTP, signal_source::stops::process, [] { return false; });
            if (!is_to_end(*signal)) continue;
            ::kill(maker, SIGKILL);
            ::waitpid(maker, nullptr, 0);
            return report(asked.settings.json, ended_by(*signal),
                          in_quotes(name) +
                              ": a signal came while the period was being claimed, so the command was "
                              "not run; if the store has granted the claim, nobody runs it this period");
        }
        if (::waitpid(maker, &status, WNOHANG) == maker)
            return WIFEXITED(status) ? WEXITSTATUS(status) : ended_by(WTERMSIG(status));
    }
}

// The mark is nobody's once it is made, so another process can make it: this one has to stay without threads.
int mark_period(const request& asked, const mortise::claim& wanted, const period& one, const signal_source& signals) {
    const pid_t here = ::getpid();
    const pid_t maker = ::fork();
    if (maker < 0) throw failure(exit_code::unavailable, "cannot start a process; see ulimit -u");
    if (maker > 0) return await_mark(asked, wanted.name, maker, signals);
    ::pthread_sigmask(SIG_SETMASK, &signals.mask_before(), nullptr);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != here) ::_exit(static_cast<int>(exit_code::unavailable));
    ::_exit(make_mark(asked, wanted, one));
}

// 0: it can be run, as far as one can tell before. Else an errno. As execvp looks for it.
int why_not_found(const std::string& program) {
    const auto try_one = [](const std::string& path) {
        std::error_code ec;
        if (::access(path.c_str(), X_OK) != 0) return errno;
        return std::filesystem::is_directory(path, ec) ? EACCES : 0;
    };
    if (program.empty() || program.find('/') != program.npos) return try_one(program);
    const char* const path = std::getenv("PATH");
    if (path == nullptr) return 0;  // then the system has a list of its own
    int why = ENOENT;
    std::istringstream directories{path + std::string(":")};
    for (std::string each; std::getline(directories, each, ':');) {
        const int found = try_one((each.empty() ? "." : each) + "/" + program);
        if (found == 0) return 0;
        if (found == EACCES) why = EACCES;
    }
    return why;
}

int once(const request& asked) {
    const period one = period_of(asked.given);
    run_terms terms = run_terms_of(asked);
    terms.wanted.options.wait = nanoseconds::zero();
    const int busy = asked.given.has("--conflict-exit-code") ? terms.busy_code : 0;
    const auto another_does = [&] {
        if (asked.settings.verbose)
            inform(asked.settings.json, "skipped", json{}.add("name", terms.wanted.name),
                   in_quotes(terms.wanted.name) + ": it has run in this period");
        return busy;
    };
    if (const int why = why_not_found(terms.line.front()))  // before the period is spent
        return report(asked.settings.json, why == ENOENT ? exit_code::not_found : exit_code::cannot_execute,
                      "cannot run " + in_quotes(terms.line.front()) + ": " + ::strerrordesc_np(why) +
                          "; the period is left to other nodes");
    const signal_source signals = signals_of_run();
    const int marked = mark_period(asked, terms.wanted, one, signals);
    if (marked == static_cast<int>(exit_code::busy)) return another_does();
    if (marked != 0) return marked;
    terms.busy_code = busy;
    return run_once(terms, signals).code;
}

}  // namespace

const verb& once_verb() {
    static const verb made{
        .name = "once",
        .summary = "runs a command once per period in the whole fleet",
        .usage = "--every T [options] NAME [--] COMMAND [ARGUMENT]...",
        .options = options_of_once(),
        .words = {.least = 1, .most = 1, .then_command = true, .usage = "NAME -- COMMAND..."},
        .notes =
            "For cron on every node: the first to come runs COMMAND, the others exit 0. A\n"
            "COMMAND that takes longer than T keeps the next one out until it ends. At most\n"
            "once: if the node dies, COMMAND is not run again before the next period. The\n"
            "clocks of the nodes may differ by less than the slack. Else as mortise run.\n",
        .examples = {"mortise once --every 1h report -- sh -c 'echo this node makes the report'",
                     "mortise once --every 10m --slack 2m -c cleanup 'exit 0'"},
        .perform = &once,
    };
    return made;
}

}  // namespace command
