#include "keeper.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace command {

// No function of the C library forks and shares descriptors. What follows in the new process is system calls only, because the
// library has not been told of it.
pid_t start_keeper(pid_t wrapper) {
    const long made = ::syscall(SYS_clone, CLONE_FILES | CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (made != 0) return static_cast<pid_t>(made);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != wrapper) ::_exit(0);
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, "mortise-keeper");
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    while (true) ::pause();
}

}  // namespace command
