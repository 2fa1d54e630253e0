#include "crew.hpp"

#include "seller.hpp"

#include <array>
#include <cstring>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

struct channel {
    descriptor out, in;

    channel() {
        std::array<int, 2> both{};
        if (::pipe2(both.data(), O_CLOEXEC) != 0) throw system_failure("cannot make a pipe");
        out = descriptor{both[0]};
        in = descriptor{both[1]};
    }
};

// Nothing if all is well.
std::string fate(int status) {
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        return "was ended by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
    }
    return status == 0 ? "" : "ended with status " + std::to_string(WEXITSTATUS(status));
}

bool is_stopped(pid_t pid) {
    siginfo_t about{};
    const int asked = ::waitid(P_PID, static_cast<id_t>(pid), &about, WSTOPPED | WNOHANG | WNOWAIT);
    return asked == 0 && about.si_pid == pid;
}

}  // namespace

crew::~crew() {
    for (const pid_t pid : present_) ::kill(pid, SIGKILL);
    for (const pid_t pid : present_) ::waitpid(pid, nullptr, 0);
}

void crew::gather(const stock& shelf) {
    channel doors;
    channel messages;
    doors_ = std::move(doors.in);
    till_ = till{std::move(messages.out)};
    while (std::ssize(present_) < wanted_.processes) start(shelf, doors.out.number(), messages.in.number());
    messages.in.close();  // so that the till ends with the last seller
    while (till_.ready() < wanted_.processes) look();
}

// Each process is this program once more, from its beginning, as it would be in life. A bare fork() would copy a program
// in the middle of its work, without its threads; a mortise::client refuses to work in such a copy.
void crew::start(const stock& shelf, int doors, int till) {
    posix_spawn_file_actions_t plan{};
    ::posix_spawn_file_actions_init(&plan);
    ::posix_spawn_file_actions_adddup2(&plan, doors, doors_descriptor);
    ::posix_spawn_file_actions_adddup2(&plan, till, till_descriptor);
    ::posix_spawn_file_actions_adddup2(&plan, shelf.number(), stock_descriptor);
    std::string name = "ticket_shop";
    std::string word = seller_word;
    const std::array<char*, 4> words{name.data(), word.data(), lock_.data(), nullptr};
    pid_t pid = 0;
    errno = ::posix_spawn(&pid, "/proc/self/exe", &plan, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&plan);
    if (errno != 0) throw system_failure("cannot start " + std::to_string(wanted_.processes) + " processes");
    present_.push_back(pid);
}

bool crew::look() {
    const auto moment = till_.at_end() ? 1ms : 50ms;
    const std::size_t before = present_.size();
    const std::optional<failure> died = reap();
    const bool heard = till_.listen(moment);  // after reap(): their last words say more than their status
    if (died) throw *died;

    // Counted in moments, not by the clock: while the whole shop is stopped (Ctrl-Z), nobody is to blame.
    silent_ = heard || present_.size() < before ? 0ms : silent_ + moment;
    if (silent_ >= wanted_.patience) throw silence();
    return !present_.empty() || !till_.at_end();
}

std::optional<failure> crew::reap() {
    std::optional<failure> died;
    std::erase_if(present_, [&](pid_t pid) {
        int status = 0;
        if (::waitpid(pid, &status, WNOHANG) != pid) return false;
        if (status != 0)
            died = failure{
                failed, "seller process " + std::to_string(pid) + ' ' + fate(status) + " in the round lock=" + lock_};
        return true;
    });
    return died;
}

failure crew::silence() const {
    std::string who;
    for (const pid_t pid : present_) who += ' ' + std::to_string(pid) + (is_stopped(pid) ? " (stopped)" : "");
    return {failed, "the sellers did nothing for " + std::to_string(wanted_.patience.count()) +
                        " s in the round lock=" + lock_ + "; still there: processes" + who};
}
