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

constexpr auto patience = 20s;

// To the processor with that number among those we may use.
void settle(int number) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    int left = number % std::max(CPU_COUNT(&allowed), 1);
    for (std::size_t each = 0; each < CPU_SETSIZE; ++each) {
        if (!CPU_ISSET(each, &allowed) || left-- > 0) continue;
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(each, &only);
        ::sched_setaffinity(0, sizeof only, &only);
        return;
    }
}

constexpr int interrupts[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int) {
    interrupted = 1;
}

}  // namespace

void heed_interrupts() {
    struct sigaction how {};
    how.sa_handler = note_interrupt;
    for (const int each : interrupts) ::sigaction(each, &how, nullptr);
}

void pause_for(std::chrono::nanoseconds time) {
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
    const timespec spec{whole.count(), (time - whole).count()};
    ::nanosleep(&spec, nullptr);
    if (interrupted) throw std::runtime_error("interrupted");
}

crew::crew(int processes, placement where, const std::function<void(int process)>& work) {
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    for (int number = 0; number < processes; ++number) {
        const pid_t pid = ::fork();
        if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (pid > 0) {
            members_.push_back(pid);
            continue;
        }
        for (const int each : interrupts) ::signal(each, SIG_DFL);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        ::alarm(std::chrono::seconds{2 * patience}.count());
        if (where != placement::free) settle(where == placement::apart ? number : 0);
        int status = 0;
        try {
            work(number);
        } catch (const std::exception& e) {
            std::snprintf(complaint_->text, sizeof complaint_->text, "%s", e.what());
            status = 1;
        }
        ::_exit(status);
    }
}

crew::~crew() {
    for (const pid_t pid : members_) ::kill(pid, SIGKILL);
    for (const pid_t pid : members_) ::waitpid(pid, nullptr, 0);
}

void crew::look() {
    for (std::size_t i = 0; i < members_.size();) {
        int status = 0;
        if (::waitpid(members_[i], &status, WNOHANG) != members_[i]) {
            ++i;
            continue;
        }
        members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
        if (status == 0) continue;
        const std::string said = complaint_->text;
        throw std::runtime_error("a process failed: " + (said.empty() ? "status " + std::to_string(status) : said));
    }
}

void crew::wait_for(const std::function<bool()>& met) {
    const auto deadline = steady_clock::now() + patience;
    while (!met()) {
        look();
        if (steady_clock::now() > deadline) throw std::runtime_error("its processes are stuck");
        pause_for(500us);
    }
}

void crew::finish() {
    wait_for([this] {
        look();
        return members_.empty();
    });
}

}  // namespace bench
