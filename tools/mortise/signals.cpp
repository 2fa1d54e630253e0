#include "signals.hpp"

#include "failure.hpp"

#include <sys/signalfd.h>

namespace command {

signal_source::signal_source(std::initializer_list<int> wanted) {
    ::signal(SIGCHLD, SIG_DFL);  // whoever started us may have ignored it, and then no child could be waited for
    sigset_t set;
    ::sigemptyset(&set);
    for (const int each : wanted) {
        struct sigaction now {};
        ::sigaction(each, nullptr, &now);
        if (now.sa_handler != SIG_IGN) ::sigaddset(&set, each);
    }
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    from_ = descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!from_) throw failure(exit_code::unavailable, "no descriptor left for signals; raise ulimit -n");
}

std::optional<int> signal_source::read() const noexcept {
    signalfd_siginfo one{};
    if (::read(from_.get(), &one, sizeof one) != sizeof one) return std::nullopt;
    return static_cast<int>(one.ssi_signo);
}

void signal_source::undergo(int signal) {
    sigset_t only, before;
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &only, &before);
    ::kill(0, signal);  // the whole job, as if the terminal had sent it
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    // What ended the stop is no news any more; heard late, it would undo the next one.
    ::sigemptyset(&only);
    ::sigaddset(&only, SIGCONT);
    constexpr timespec at_once{};
    ::sigtimedwait(&only, nullptr, &at_once);
}

}  // namespace command
