#include "support/server_group.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mortise::testing {
namespace {

[[noreturn]] void fail(const std::string& what, int code = errno) {
    throw std::system_error(code, std::generic_category(), what);
}

// Where servers keep their files: in memory where there is plenty, so that a test does not depend on who else writes to disk.
// A measurement may want the disk.
std::filesystem::path where_servers_write() {
    if (const char* const wanted = std::getenv("MORTISE_SERVERS_WRITE_TO")) return wanted;
    constexpr std::uintmax_t plenty = std::uintmax_t{4} << 30;
    const std::filesystem::path memory = "/dev/shm";
    std::error_code none;
    const auto space = std::filesystem::space(memory, none);
    const bool fits = !none && space.available >= plenty && ::access(memory.c_str(), W_OK | X_OK) == 0;
    return fits ? memory : std::filesystem::temp_directory_path();
}

constexpr char called[] = "mortise-guard";

// The last thing that is left of the test. It leaves the group, ends everybody in it and removes their files.
[[noreturn]] void clear_away(const char* directory) {
    const pid_t group = ::getpgrp();
    if (::fork() == 0) {
        ::setpgid(0, 0);
        ::kill(-group, SIGKILL);
        for (int tries = 0; tries < 100 && ::kill(-group, 0) == 0; ++tries) ::usleep(10'000);
        ::execlp("rm", "rm", "-rf", "--", directory, nullptr);
    }
    ::_exit(0);
}

// Where the arguments of this program stand, which is what ps and pkill read.
std::span<char> own_arguments() {
    std::ifstream in{"/proc/self/stat"};
    std::string text;
    std::getline(in, text);
    std::istringstream fields{text.substr(std::min(text.rfind(')') + 1, text.size()))};
    constexpr int before_arguments = 45;  // of those after the name
    std::string ignored;
    for (int i = 0; i < before_arguments; ++i) fields >> ignored;
    std::uintptr_t begins = 0;
    std::uintptr_t ends = 0;
    fields >> begins >> ends;
    return {reinterpret_cast<char*>(begins), ends - begins};
}

// In a child of a program with threads, so system calls only. What ends a test by its descendants, its group or its name does
// not end this: it is nobody's child, and has another group and another name.
[[noreturn]] void guard(int maker, int dismissal, int told, const char* directory, std::span<char> arguments) {
    for (const int politely : {SIGINT, SIGTERM}) ::signal(politely, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);  // sent to a group that is left behind with a frozen process
    ::setpgid(0, 0);
    ::prctl(PR_SET_NAME, called);
    for (std::size_t i = 0; i < arguments.size(); ++i)
        arguments[i] = i < sizeof called && i + 1 < arguments.size() ? called[i] : '\0';
    const pid_t me = ::getpid();
    static_cast<void>(!::write(told, &me, sizeof me));
    const int nowhere = ::open("/dev/null", O_RDWR);
    for (int standard = 0; standard <= 2; ++standard) ::dup2(nowhere, standard);
    for (int fd = 3; fd < 1024; ++fd)
        if (fd != maker && fd != dismissal) ::close(fd);
    pollfd watched[] = {{maker, POLLIN, 0}, {dismissal, POLLIN, 0}};
    while (true) {
        ::poll(watched, 2, -1);
        if ((watched[1].revents & POLLIN) != 0) ::_exit(0);
        if (watched[0].revents != 0) clear_away(directory);
        if (watched[1].revents != 0) watched[1].fd = -1;
    }
}

}  // namespace

server_group::server_group() : directory_(where_servers_write() / "mortise-servers-XXXXXX"), maker_(::getpid()) {
    if (::mkdtemp(directory_.data()) == nullptr) fail("cannot make " + directory_);
    int dismissal[2];
    int told[2];
    const int maker = static_cast<int>(::syscall(SYS_pidfd_open, maker_, 0));  // readable when the process ends
    if (maker < 0 || ::pipe2(dismissal, O_CLOEXEC) != 0 || ::pipe2(told, O_CLOEXEC) != 0) fail("no guardian");
    const std::span<char> arguments = own_arguments();
    const pid_t between = ::fork();
    if (between == 0) {
        if (::fork() == 0) guard(maker, dismissal[0], told[1], directory_.c_str(), arguments);
        ::_exit(0);
    }
    ::close(maker);
    ::close(dismissal[0]);
    ::close(told[1]);
    ::waitpid(between, nullptr, 0);
    const bool stands = between > 0 && ::read(told[0], &guardian_, sizeof guardian_) == sizeof guardian_;
    ::close(told[0]);
    dismissal_ = dismissal[1];
    if (!stands) fail("no guardian");
}

server_group::~server_group() {
    if (::getpid() != maker_) return;  // a copy in a forked child
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    static_cast<void>(!::write(dismissal_, "x", 1));
    ::close(dismissal_);
}

server_process::server_process(const server_group& home, std::vector<std::string> command, std::string log)
    : home_(home), command_(std::move(command)), log_(std::move(log)), maker_(::getpid()) {
    start();
}

server_process::~server_process() {
    if (::getpid() == maker_) kill();
}

void server_process::start() {
    kill();
    std::vector<char*> words;
    for (const std::string& word : command_) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    std::vector<char*> environment;  // with a wall clock that does not lie: that is for the tests themselves
    for (char** each = environ; *each != nullptr; ++each)
        if (const std::string_view is = *each; !is.starts_with("LD_PRELOAD=") && !is.starts_with("MORTISE_TEST_WALL="))
            environment.push_back(*each);
    environment.push_back(nullptr);

    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, 1, log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::posix_spawn_file_actions_adddup2(&files, 1, 2);
    posix_spawnattr_t how;
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_init(&how);
    ::posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&how, home_.id());
    ::posix_spawnattr_setsigmask(&how, &none);
    ::posix_spawnattr_setsigdefault(&how, &all);
    const int failed = ::posix_spawnp(&pid_, words[0], &files, &how, words.data(), environment.data());
    ::posix_spawnattr_destroy(&how);
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) {
        pid_ = 0;
        fail("cannot start " + command_[0], failed);
    }
}

void server_process::kill() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
    frozen_ = false;
}

void server_process::end(int signal) {
    if (pid_ != 0 && !frozen_ && ::kill(pid_, signal) == 0)
        for (int n = 0; n < 500 && running(); ++n) std::this_thread::sleep_for(std::chrono::milliseconds{10});
    kill();
}

void server_process::freeze() {
    siginfo_t seen{};
    if (::kill(pid_, SIGSTOP) != 0 ||
        ::waitid(P_PID, static_cast<id_t>(pid_), &seen, WSTOPPED | WEXITED | WNOWAIT) != 0)
        fail("cannot freeze " + command_[0]);
    frozen_ = true;
}

void server_process::thaw() {
    if (::kill(pid_, SIGCONT) != 0) fail("cannot thaw " + command_[0]);
    frozen_ = false;
}

bool server_process::running() const {
    siginfo_t seen{};
    return pid_ != 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &seen, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           seen.si_pid == 0;
}

std::string server_process::last_words() const {
    std::ifstream in{log_};
    std::string all{std::istreambuf_iterator<char>(in), {}};
    constexpr std::size_t enough = 4000;
    return all.size() > enough ? all.substr(all.size() - enough) : all;
}

}  // namespace mortise::testing
