#include "base/quiet_thread.hpp"

#include <mortise/error.hpp>

#include <pthread.h>
#include <signal.h>

namespace mortise::inline v0::base {

std::thread quiet_thread(const char* name, std::function<void()> work) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::sigdelset(&all, SIGBUS);  // a fault in a thread that blocks it ends the program, whatever handler there is
    ::pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by what is started now
    std::thread started;
    std::string failed;
    try {
        started = std::thread([name, work = std::move(work)] {
            ::pthread_setname_np(::pthread_self(), name);
            work();
        });
    } catch (const std::system_error& e) {
        failed = e.what();
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (!failed.empty())
        throw error(errc::exhausted, "cannot start a thread: " + failed +
                                         "; raise the limit of processes (ulimit -u), or of memory (ulimit -v)");
    return started;
}

}  // namespace mortise::inline v0::base
