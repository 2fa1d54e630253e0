// The wrapper: what the shell sees of `run`. It passes signals on, hands the terminal over and back, stops when the command
// does, and ends as it ended. Should the guardian die, it kills all that the command started, and then the keeper.
#include "descendants.hpp"
#include "report.hpp"
#include "run.hpp"

#include <thread>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace command {
namespace {

class wrapper {
public:
    wrapper(const run_terms& terms, const channel& guardian, const signal_source& signals, pid_t process)
        : terms_(terms), guardian_(guardian), signals_(signals), process_(process) {}

    run_result wait() {
        while (true) {
            pollfd sources[]{{guardian_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
            ::poll(sources, std::size(sources), -1);
            hear_guardian();
            while (const auto signal = signals_.read()) heard(*signal);
            hear_guardian();
            if (code_) break;
            if (guardian_gone_) return orphaned();
        }
        take_terminal_back();
        ::waitpid(process_, nullptr, 0);
        if (keeper_ > 0) ::waitpid(keeper_, nullptr, 0);
        return result(*code_);
    }

private:
    run_result result(int code) const {
        const bool started = group_ > 0;
        return {code, started, lost_, signalled_ || (hung_up_early_ && !started)};
    }

    bool in_foreground() const { return terms_.terminal >= 0 && ::tcgetpgrp(terms_.terminal) == terms_.wrapper_group; }

    void hear_guardian() {
        while (!code_ && guardian_.has_news()) {
            const auto said = guardian_.hear();
            if (!said) {
                guardian_gone_ = true;
                return;
            }
            if (said->is == message::kind::keeper) keeper_ = said->value;
            if (said->is == message::kind::started) begun(said->value);
            if (said->is == message::kind::stopped) stopped(said->value);
            if (said->is == message::kind::ended) ended();
            if (said->is == message::kind::lost) lost_ = true;
            if (said->is == message::kind::finished) code_ = said->value;
        }
    }

    void begun(pid_t group) {
        group_ = group;
        had_terminal_ = terms_.terminal >= 0 && ::tcgetpgrp(terms_.terminal) == group;
    }

    // The keyboard speaks to us from now on, and through us to what the command left behind.
    void ended() {
        take_terminal_back();
        had_terminal_ = false;
        ended_ = true;
    }

    void heard(int signal) {
        if (signal == SIGCHLD) {
            look_at_guardian();
        } else if (signal == SIGTSTP && (group_ == 0 || ended_)) {
            if (ended_) guardian_.tell(message::kind::signal, signal);
            if (group_ == 0) guardian_.tell(message::kind::paused);
            stop(SIGTSTP, signal_source::stops::process);  // a keyboard has told the rest of the job too
        } else if (signal == SIGCONT) {
            go_on();
        } else {
            note_wish_to_end(signal);
            guardian_.tell(message::kind::signal, signal);
        }
    }

    // A HUP that the command hears and survives is none: it has read its configuration. Whether a HUP that we hear before the
    // guardian says that the command runs will reach a command, only the guardian knows; without one, nothing is started.
    void note_wish_to_end(int signal) {
        if (!is_to_end(signal)) return;
        if (signal == SIGHUP && group_ == 0) {
            hung_up_early_ = true;
        } else if (signal != SIGHUP || ended_ || lost_) {
            signalled_ = true;
        }
    }

    // A guardian that is stopped neither renews nor watches the clock, and would be granted the lock all the same.
    void look_at_guardian() {
        int status = 0;
        if (::waitpid(process_, &status, WNOHANG | WUNTRACED) != process_) return;
        if (WIFSTOPPED(status)) {
            ::kill(process_, SIGCONT);
        } else {
            guardian_gone_ = true;
        }
    }

    // A command in the background that wants the terminal gets it if it is ours; otherwise the job stops as a whole.
    void stopped(int signal) {
        const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
        if (!wants_terminal && signal != SIGTSTP) return;  // SIGSTOP is somebody's business with the command alone
        had_terminal_ = had_terminal_ || wants_terminal;
        if (wants_terminal && in_foreground()) return go_on();
        // Only a terminal stops a job as a whole. What else stopped the command was meant for it, or for us.
        stop(signal, had_terminal_ ? signal_source::stops::job : signal_source::stops::process);
    }

    // Not if the command is to end or has ended: whoever told us so has sent its CONT and will not do it again.
    void stop(int signal, signal_source::stops what) {
        take_terminal_back();
        signal_source::stop(signal, what, [this] {
            return guardian_.has_news() || signal_source::pending({SIGINT, SIGTERM, SIGHUP, SIGQUIT});
        });
        go_on();
    }

    void go_on() {
        if (group_ == 0) return guardian_.tell(message::kind::resumed);
        if (had_terminal_ && in_foreground()) give_terminal(group_);
        guardian_.tell(message::kind::signal, SIGCONT);
    }

    void take_terminal_back() const {
        if (group_ > 0 && terms_.terminal >= 0 && ::tcgetpgrp(terms_.terminal) == group_) {
            give_terminal(terms_.wrapper_group);
        }
    }

    // Not being in the foreground ourselves, we would be stopped for it.
    void give_terminal(pid_t group) const {
        sigset_t ttou, before;
        ::sigemptyset(&ttou);
        ::sigaddset(&ttou, SIGTTOU);
        ::sigprocmask(SIG_BLOCK, &ttou, &before);
        ::tcsetpgrp(terms_.terminal, group);
        ::sigprocmask(SIG_SETMASK, &before, nullptr);
    }

    // What descended from the guardian descends from us now, and the lock lasts for as long as the keeper.
    run_result orphaned() {
        std::vector<pid_t> others = terms_.strangers;
        others.push_back(keeper_);
        pauses between;
        for (auto left = descendants(others); !left.empty(); left = descendants(others)) {
            kill_all(left);
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {
            }
            std::this_thread::sleep_for(between.next());
        }
        if (keeper_ > 0) {
            ::kill(keeper_, SIGKILL);
            ::waitpid(keeper_, nullptr, 0);
        }
        take_terminal_back();
        lost_ = true;
        return result(report(terms_.settings.json, exit_code::lost,
                             in_quotes(terms_.wanted.name) + ": the process that held the lock was killed" +
                                 (group_ > 0 ? ", and so the command with it" : "")));
    }

    const run_terms& terms_;
    const channel& guardian_;
    const signal_source& signals_;
    const pid_t process_;
    bool guardian_gone_ = false;
    pid_t keeper_ = 0;
    pid_t group_ = 0;
    bool ended_ = false;  // the command; not all that it started
    bool lost_ = false;
    bool signalled_ = false;
    bool hung_up_early_ = false;  // before the command was known to run
    bool had_terminal_ = false;
    std::optional<int> code_;
};

}  // namespace

run_result wrap(const run_terms& terms, const channel& guardian, const signal_source& signals, pid_t process) {
    return wrapper{terms, guardian, signals, process}.wait();
}

}  // namespace command
