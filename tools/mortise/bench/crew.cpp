#include "crew.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr int interrupts[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
volatile std::sig_atomic_t noted_signal = 0;

void note_interrupt(int signal) {
    noted_signal = signal;
}

}  // namespace

void settle(placement where, int number) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (where == placement::free || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    int left = where == placement::together ? 0 : number % std::max(CPU_COUNT(&allowed), 1);
    for (std::size_t each = 0; each < CPU_SETSIZE; ++each) {
        if (!CPU_ISSET(each, &allowed) || left-- > 0) continue;
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(each, &only);
        ::sched_setaffinity(0, sizeof only, &only);
        return;
    }
}

void heed_interrupts() {
    struct sigaction how {};
    how.sa_handler = note_interrupt;
    for (const int each : interrupts) ::sigaction(each, &how, nullptr);
}

void pause_for(std::chrono::nanoseconds time) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec spec{whole.count(), (time - whole).count()};
    ::nanosleep(&spec, nullptr);
    if (noted_signal != 0) throw interrupted(noted_signal);
}

crew::crew(int processes, const std::function<void(int process)>& work, std::chrono::seconds patience)
    : patience_(patience) {
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    for (int number = 0; number < processes; ++number) {
        const pid_t pid = ::fork();
        if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (pid > 0) {
            members_.push_back({number, pid});
            continue;
        }
        // Ctrl-C goes to all of us; who began it ends it.
        for (const int each : interrupts) ::signal(each, each == SIGINT || each == SIGHUP ? SIG_IGN : SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        ::alarm(static_cast<unsigned>(2 * patience.count()));
        heard_ = &*complaint_;
        try {
            work(number);
        } catch (const std::exception& e) {
            fail(e.what());
        }
        ::_exit(0);
    }
}

crew::complaint* crew::heard_ = nullptr;

void crew::fail(const char* why) noexcept {
    std::snprintf(heard_->text, sizeof heard_->text, "%s", why);
    ::_exit(1);
}

crew::~crew() {
    for (const member& each : members_) ::kill(each.pid, SIGKILL);
    for (const member& each : members_) ::waitpid(each.pid, nullptr, 0);
}

void crew::look() {
    for (std::size_t i = 0; i < members_.size();) {
        int status = 0;
        const member one = members_[i];
        if (::waitpid(one.pid, &status, WNOHANG) != one.pid) {
            ++i;
            continue;
        }
        members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
        if (status == 0) continue;
        const std::string said = complaint_->text;
        throw std::runtime_error(
            "process " + std::to_string(one.number + 1) + " (pid " + std::to_string(one.pid) + ") " +
            (WIFSIGNALED(status) ? "was killed by signal " + std::to_string(WTERMSIG(status)) : "failed: " + said));
    }
}

void crew::wait_for(const std::function<bool()>& met) {
    const auto deadline = steady_clock::now() + patience_;
    while (!met()) {
        look();
        if (steady_clock::now() > deadline)
            throw std::runtime_error("its processes are not done after " + std::to_string(patience_.count()) +
                                     " s; the store is stuck, or too slow for this workload");
        pause_for(500us);
    }
}

void crew::pause(std::chrono::nanoseconds time) {
    const auto until = steady_clock::now() + time;
    for (auto now = steady_clock::now(); now < until; now = steady_clock::now()) {
        look();
        pause_for(std::min<std::chrono::nanoseconds>(until - now, 100ms));
    }
}

void crew::finish() {
    wait_for([this] {
        look();
        return members_.empty();
    });
}

}  // namespace bench
