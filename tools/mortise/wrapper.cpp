// The wrapper: what the shell sees of `run`. It passes signals on, hands the terminal over and back, stops when the command
// does, and ends as it ended. Should the guardian die, it kills the command.
#include "child.hpp"
#include "report.hpp"
#include "run.hpp"

#include <chrono>
#include <thread>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace command {
namespace {

class wrapper {
public:
    wrapper(const run_terms& terms, const channel& guardian, const signal_source& signals)
        : terms_(terms), guardian_(guardian), signals_(signals) {}

    int wait() {
        while (true) {
            pollfd sources[]{{guardian_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
            ::poll(sources, std::size(sources), -1);
            if (sources[0].revents != 0) {
                const auto said = guardian_.hear();
                if (!said) return orphaned();
                if (said->is == message::kind::finished) {
                    take_terminal_back();
                    return said->value;
                }
                if (said->is == message::kind::started) begun(said->value);
                if (said->is == message::kind::stopped) stopped(said->value);
            }
            if (sources[1].revents != 0) {
                while (const auto signal = signals_.read()) heard(*signal);
            }
        }
    }

private:
    bool in_foreground() const { return terms_.terminal >= 0 && ::tcgetpgrp(terms_.terminal) == terms_.wrapper_group; }

    void begun(pid_t group) {
        group_ = group;
        had_terminal_ = terms_.terminal >= 0 && ::tcgetpgrp(terms_.terminal) == group;
    }

    void heard(int signal) {
        if (signal == SIGTSTP && group_ == 0) {
            guardian_.tell(message::kind::paused);
            stop(SIGTSTP);
        } else if (signal == SIGCONT) {
            go_on();
        } else {
            guardian_.tell(message::kind::signal, signal);
        }
    }

    // A command in the background that wants the terminal gets it if it is ours; otherwise the job stops as a whole.
    void stopped(int signal) {
        const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
        if (!wants_terminal && signal != SIGTSTP) return;  // SIGSTOP is somebody's business with the command alone
        had_terminal_ = had_terminal_ || wants_terminal;
        if (wants_terminal && in_foreground()) return go_on();
        stop(signal);
    }

    void stop(int signal) {
        take_terminal_back();
        signal_source::undergo(signal);
        go_on();  // at once, if nobody could continue us and so we did not stop
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

    // The lock went with the guardian, so the command must go too, and at once.
    int orphaned() const {
        while (group_ > 0 && (::kill(-group_, SIGKILL), group_alive(group_))) {
            while (::waitpid(-1, nullptr, WNOHANG) > 0) {
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
        take_terminal_back();
        return report(terms_.settings.json, exit_code::lost,
                      in_quotes(terms_.wanted.name) + ": the process that held the lock was killed" +
                          (group_ > 0 ? ", and so the command with it" : ""));
    }

    const run_terms& terms_;
    const channel& guardian_;
    const signal_source& signals_;
    pid_t group_ = 0;
    bool had_terminal_ = false;
};

}  // namespace

int wrap(const run_terms& terms, const channel& guardian, const signal_source& signals, pid_t process) {
    const int code = wrapper{terms, guardian, signals}.wait();
    ::waitpid(process, nullptr, 0);
    return code;
}

}  // namespace command
