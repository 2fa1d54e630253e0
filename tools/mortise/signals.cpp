#include "signals.hpp"

#include "failure.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

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
    if (!from_) throw failure(exit_code::unavailable, "no file descriptors left; raise ulimit -n");
}

std::optional<int> signal_source::read() const noexcept {
    signalfd_siginfo one{};
    if (::read(from_.get(), &one, sizeof one) != sizeof one) return std::nullopt;
    return static_cast<int>(one.ssi_signo);
}

// The signal waits until it was asked whether it should; a CONT that comes meanwhile takes it back.
void signal_source::stop(int signal, stops what, const std::function<bool()>& unless) {
    const pid_t whom = what == stops::job ? 0 : ::getpid();
    sigset_t only, before;
    ::sigemptyset(&only);
    ::sigaddset(&only, signal);
    ::pthread_sigmask(SIG_BLOCK, &only, &before);
    ::kill(whom, signal);
    if (unless()) ::kill(whom, SIGCONT);
    ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    // What ended the stop is no news any more; heard late, it would undo the next one.
    ::sigemptyset(&only);
    ::sigaddset(&only, SIGCONT);
    constexpr timespec at_once{};
    ::sigtimedwait(&only, nullptr, &at_once);
}

bool signal_source::pending(std::initializer_list<int> some) noexcept {
    sigset_t all;
    ::sigpending(&all);
    for (const int each : some)
        if (::sigismember(&all, each) == 1) return true;
    return false;
}

}  // namespace command
