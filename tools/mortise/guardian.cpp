// The guardian: owns client and hold, starts the command, renews, and lets go only when nothing that it started is left. What
// to do is decided by `supervision`; here it is done. Nothing in the loop waits for the store, so the clock is always heeded.
#include "child.hpp"
#include "claim_arguments.hpp"
#include "descendants.hpp"
#include "enclosing_runs.hpp"
#include "failure.hpp"
#include "inbox.hpp"
#include "keeper.hpp"
#include "metrics.hpp"
#include "report.hpp"
#include "run.hpp"
#include "store_client.hpp"
#include "supervision.hpp"
#include "wait_display.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <memory>
#include <stop_token>
#include <thread>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace command {
namespace {

using mortise::boot_clock;

class guardian {
public:
    guardian(const run_terms& terms, const channel& wrapper, pid_t wrapper_process)
        : terms_(terms), wrapper_(wrapper), wrapper_process_(wrapper_process) {}

    // After an exception the command may still run; it must not when the hold goes.
    ~guardian() {
        if (finished_ || group_ <= 0) return;
        while (::waitpid(-1, nullptr, WNOHANG) >= 0) {
            kill_all(descendants());
            std::this_thread::sleep_for(killing_.next());
        }
    }
    guardian(const guardian&) = delete;
    guardian& operator=(const guardian&) = delete;

    int watch() {
        if (!timer_ || inbox_->get() < 0)
            return report(json(), exit_code::unavailable, "no file descriptors left; raise ulimit -n");
        std::optional<metrics_page> page;
        if (terms_.metrics_port) page.emplace(*terms_.metrics_port);
        locks_ = client_of(terms_.settings, observed_by(page));
        require_shared_store(*locks_);
        refuse_self_wait(*locks_, terms_.wanted);
        if (page) page->serve(locks_, terms_.wanted.name);
        claim();
        while (!finished_) {
            set_timer();
            pollfd sources[]{{wrapper_there_ ? wrapper_.get() : -1, POLLIN, 0},
                             {signals_.get(), POLLIN, 0},
                             {inbox_->get(), POLLIN, 0},
                             {timer_.get(), POLLIN, 0}};
            ::poll(sources, std::size(sources), decide_.killing() ? static_cast<int>(killing_.next().count()) : -1);
            // First: a command that stood still with us, past the lease, must not go on because the wrapper does.
            follow(decide_.tick(boot_clock::now(), hold_.valid_until()));
            if (sources[0].revents != 0) hear_wrapper();
            if (sources[1].revents != 0) hear_signals();
            if (sources[2].revents != 0) hear_client();
            reap();
            follow(decide_.tick(boot_clock::now(), hold_.valid_until()));
        }
        return *finished_;
    }

private:
    bool json() const { return terms_.settings.json; }
    bool verbose() const { return terms_.settings.verbose; }
    std::string name() const { return in_quotes(terms_.wanted.name); }

    void claim() {
        mortise::claim wanted = terms_.wanted;
        wanted.options.stop = withdraw_.get_token();
        // Time passes for a stopped job too.
        if (!asked_at_) asked_at_ = boot_clock::now();
        if (auto& wait = wanted.options.wait) wait = std::max(*wait - (boot_clock::now() - *asked_at_), {});
        locks_->start(std::move(wanted), [box = inbox_](mortise::attempt got) { box->answer(std::move(got)); });
        const bool live = is_terminal(STDERR_FILENO) && !json();
        const bool waits = !terms_.wanted.options.wait || terms_.wanted.options.wait->count() > 0;
        if (waits && (live || verbose()))
            display_.emplace(locks_, terms_.wanted.name, live, terms_.wrapper_group, json());
    }

    void set_timer() {
        const auto when = decide_.next_look(hold_.valid_until());
        itimerspec at{};
        if (when != boot_clock::time_point::max()) {
            const auto since_boot = std::max(when.time_since_epoch(), std::chrono::nanoseconds{1});
            at.it_value = {.tv_sec = since_boot.count() / 1'000'000'000, .tv_nsec = since_boot.count() % 1'000'000'000};
        }
        ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);  // a time gone by rings at once
    }

    void hear_wrapper() {
        const auto said = wrapper_.hear();
        if (!said) {
            wrapper_there_ = false;
            follow(decide_.wrapper_gone());
        } else if (said->is == message::kind::signal) {
            follow(decide_.signalled(said->value));
        } else if (said->is == message::kind::paused) {
            follow(decide_.paused());
        } else if (said->is == message::kind::resumed) {
            follow(decide_.resumed());
        }
    }

    // Somebody may mean us by our name; Ctrl-Z never does.
    void hear_signals() {
        while (const auto signal = signals_.read())
            if (*signal != SIGCHLD && *signal != SIGTSTP) follow(decide_.signalled(*signal));
    }

    void hear_client() {
        inbox::news heard = inbox_->take();
        if (heard.answer) {
            if (display_) display_->end();
            if (*heard.answer) {
                hold_ = *std::move(*heard.answer);
                hold_.on_lost([box = inbox_] { box->lose(); });
                // A job that is stopped by SIGSTOP cannot tell.
                if (const auto job = process_at(wrapper_process_); job && job->stopped()) follow(decide_.paused());
                follow(decide_.granted(boot_clock::now(), hold_.valid_until()));
            } else {
                refused(heard.answer->refusal());
            }
        }
        if (heard.lost) follow(decide_.lost(boot_clock::now()));
    }

    void refused(const mortise::refusal& no) {
        const exit_code kind = code_of(no.reason);
        const int code = kind == exit_code::busy ? terms_.busy_code : static_cast<int>(kind);
        if (no.reason != mortise::errc::cancelled) report(json(), code, terms_.wanted.name, no);
        follow(decide_.refused(code));
    }

    void follow(const supervision::orders& what) {
        if (what.withdraw) withdraw_.request_stop();
        if (what.start) start();
        for (const int signal : what.send) send(signal, what.to);
        if (what.tell != supervision::trouble::none) tell(what.tell);
        if (what.remind) remind();
        if (what.release && what.finish) release(*what.finish);
        if (what.release && !what.finish) hold_.start_release([](auto, auto) {});
        if (what.claim) claim();
        if (what.finish && !finished_) finished_ = what.finish;
    }

    // Once the command has been waited for, its number may become another group's, so its group is looked for one by one.
    void send(int signal, supervision::reach to) const {
        if (group_ <= 0) return;
        const bool as_group = to != supervision::reach::others && !decide_.command_ended();
        if (as_group) ::kill(-group_, signal);
        if (to == supervision::reach::group) return;
        std::vector<process> some = descendants();
        if (as_group || to == supervision::reach::others)
            std::erase_if(some, [this](const process& each) { return each.group == group_; });
        if (signal == SIGKILL) return kill_all(some);
        for (const process& each : some) ::kill(each.pid, signal);
    }

    void remind() const {
        const std::vector<process> left = descendants();
        if (left.empty()) return;
        const std::string more = left.size() > 1 ? " and " + std::to_string(left.size() - 1) + " more" : "";
        const std::string text = name() + ": the command has ended, but pid " + std::to_string(left.front().pid) +
                                 " (" + plain(left.front().name) + ")" + more + ", which it started, still " +
                                 (more.empty() ? "runs and keeps" : "run and keep") + " the lock" +
                                 (terms_.can_close ? "; use -o to release the lock when the command ends" : "");
        complain(json() ? command::json{}.add("warning", text).text() : "mortise: " + text);
    }

    void tell(supervision::trouble why) const {
        wrapper_.tell(message::kind::lost);
        const bool renewed = terms_.wanted.options.renew == mortise::renew::on;
        report(json(), exit_code::lost,
               name() + (why == supervision::trouble::lost ? ": the lock was lost; stopping the command"
                         : renewed ? ": the lease ends and could not be renewed; stopping the command"
                                   : ": the lease ends (--no-renew); stopping the command"));
    }

    void start() {
        std::error_code ec;
        const mortise::token token = hold_.token(ec);
        std::vector<std::pair<std::string, std::string>> ours{{"MORTISE_NAME", terms_.wanted.name},
                                                              {"MORTISE_TOKEN", ec ? "" : to_string(token)},
                                                              {"MORTISE_HOLDER", this_holder()}};
        const bool foreground = terms_.terminal >= 0 && is_terminal(STDIN_FILENO) && is_terminal(STDOUT_FILENO) &&
                                ::tcgetpgrp(terms_.terminal) == terms_.wrapper_group;
        group_ = start_child({.line = terms_.line,
                              .environment = environment_with(ours),
                              .descriptors = terms_.descriptors,
                              .mask = terms_.mask,
                              .terminal = foreground ? terms_.terminal : -1,
                              .json = json()});
        if (group_ < 0) {
            report(json(), exit_code::unavailable, "cannot start a process; see ulimit -u");
            return follow(decide_.not_started(static_cast<int>(exit_code::unavailable)));
        }
        wrapper_.tell(message::kind::started, group_);
        if (verbose())
            inform(json(), "holding",
                   command::json{}.add("name", terms_.wanted.name).add("token", ec ? "" : to_string(token)),
                   "holding " + name() + (ec ? std::string{} : ", token " + to_string(token)));
    }

    // All whose parents have died are our children, so without a child there is nobody.
    void reap() {
        int status = 0;
        pid_t who = 0;
        while ((who = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
            if (who != group_) continue;
            if (WIFSTOPPED(status)) {
                wrapper_.tell(message::kind::stopped, WSTOPSIG(status));
            } else {
                follow(decide_.ended(WIFEXITED(status) ? WEXITSTATUS(status) : ended_by(WTERMSIG(status)),
                                     boot_clock::now()));
                wrapper_.tell(message::kind::ended);
            }
        }
        if (who < 0) {
            follow(decide_.all_gone());
        } else if (decide_.killing()) {
            send(SIGKILL, supervision::reach::all);
        }
    }

    // The store may say only now that the lock was no longer ours.
    void release(int code) {
        const mortise::release_result how = hold_.release();
        const bool ours = how == mortise::release_result::released || how == mortise::release_result::unknown;
        finished_ = ours ? code : static_cast<int>(exit_code::lost);
        if (!ours) wrapper_.tell(message::kind::lost);
        if (!ours && code != static_cast<int>(exit_code::lost))
            report(json(), exit_code::lost, name() + ": the lock ended before the command did");
        if (verbose())
            inform(json(), "ended", command::json{}.add("name", terms_.wanted.name).add("result", to_string(how)),
                   name() + ": " + std::string(to_string(how)));
    }

    const run_terms& terms_;
    const channel& wrapper_;
    const pid_t wrapper_process_;
    const signal_source signals_{SIGCHLD, SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                 SIGUSR1, SIGUSR2, SIGTSTP, SIGTTIN, SIGTTOU};
    const std::shared_ptr<inbox> inbox_ = std::make_shared<inbox>();
    const descriptor timer_{::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)};
    supervision decide_{terms_.close ? supervision::kept_by::command : supervision::kept_by::all};
    std::stop_source withdraw_;
    std::shared_ptr<mortise::client> locks_;
    std::optional<wait_display> display_;
    std::optional<boot_clock::time_point> asked_at_;  // for the first time
    mortise::hold hold_;
    pauses killing_;
    bool wrapper_there_ = true;
    pid_t group_ = 0;
    std::optional<int> finished_;
};

}  // namespace

void guard(const run_terms& terms, const channel& wrapper) {
    const pid_t wrapper_process = ::getppid();
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, terms.close ? closing_guardian_name : guardian_name);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    int code = static_cast<int>(exit_code::unavailable);
    const pid_t keeper = start_keeper(wrapper_process);
    try {
        if (keeper < 0) throw failure(exit_code::unavailable, "cannot start a process; see ulimit -u");
        wrapper.tell(message::kind::keeper, keeper);
        code = guardian{terms, wrapper, wrapper_process}.watch();
    } catch (const failure& e) {
        code = report(terms.settings.json, e.code(), e.what());
    } catch (const mortise::error& e) {
        code = report(terms.settings.json, code_of(e.code()), e.what());
    } catch (const std::exception& e) {
        report(terms.settings.json, code, e.what());
    }
    wrapper.tell(message::kind::finished, code);
    if (::getppid() == wrapper_process) {
        if (keeper > 0) ::kill(keeper, SIGKILL);
        ::kill(wrapper_process, SIGCONT);  // a job that is stopped is to hear it too
    }
    ::_exit(0);
}

}  // namespace command
