// Processes of a test: made by fork, never waited for without a deadline.
#pragma once

#include "support/sanitizers.hpp"
#include "support/waiting.hpp"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mortise::testing {

// Gone at the end of the test, with all that is in it.
class scratch_directory {
public:
    scratch_directory() {
        std::string made = std::filesystem::temp_directory_path() / "mortise-test-XXXXXX";
        if (::mkdtemp(made.data()) == nullptr) throw std::runtime_error("cannot make " + made);
        path_ = made;
    }
    ~scratch_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    scratch_directory(const scratch_directory&) = delete;
    scratch_directory& operator=(const scratch_directory&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

// A thread that runs at the moment of a fork may be inside the sanitizer's allocator, whose lock then stays taken in the
// child. So, with a sanitizer, fork when all other threads sleep; or after a second, if they never do.
inline void await_a_quiet_moment() {
    if (!under_asan && !under_tsan) return;
    const auto others_sleep = [] {
        for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
            if (thread.path().filename() == std::to_string(::gettid())) continue;
            std::string text;
            std::getline(std::ifstream{thread.path() / "stat"}, text);
            if (const auto name_ends = text.rfind(')'); name_ends != text.npos && text[name_ends + 2] != 'S')
                return false;
        }
        return true;
    };
    int in_a_row = 0;
    static_cast<void>(
        eventually([&] { return (in_a_row = others_sleep() ? in_a_row + 1 : 0) == 3; }, std::chrono::seconds{1}));
}

// ThreadSanitizer takes the threads that a parent had for running in its child too, and a new one on the stack of such a
// thread for a duplicate. Larger stacks lie elsewhere. Called in the child, before it has threads.
inline void take_other_stacks() {
    if (!under_tsan) return;
    pthread_attr_t usual;
    std::size_t size = 0;
    ::pthread_getattr_default_np(&usual);
    ::pthread_attr_getstacksize(&usual, &size);
    ::pthread_attr_setstacksize(&usual, 2 * size);
    ::pthread_setattr_default_np(&usual);
    ::pthread_attr_destroy(&usual);
}

// Forks a process that runs `work` and exits with its answer; 99 after an exception. An alarm of its own ends it if the test
// itself hangs.
inline pid_t fork_process(const std::function<int()>& work, unsigned alarm_after = 100) {
    await_a_quiet_moment();
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    take_other_stacks();
    ::alarm(alarm_after);
    int status = 99;
    try {
        status = work();
    } catch (const std::exception& e) {
        std::cerr << "child: " << e.what() << std::endl;
    }
    ::_exit(status);
}

// Killed when the object goes.
class child {
public:
    explicit child(const std::function<int()>& work) : pid_(fork_process(work)) {}
    ~child() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    child(child&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
    child& operator=(child&& other) noexcept {
        std::swap(pid_, other.pid_);
        return *this;
    }

    static child none() { return child(nothing{}); }

    pid_t pid() const { return pid_; }
    void tell(int signal) const { ::kill(pid_, signal); }
    void kill() { *this = none(); }

    // Its exit status, or minus the signal that ended it; -1000 if it does not end in time.
    int wait(std::chrono::seconds timeout = std::chrono::seconds{30}) {
        int status = 0;
        if (!eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; }, timeout)) return -1000;
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

    // Whether it stopped itself (SIGSTOP) in time.
    bool stopped(std::chrono::seconds timeout = std::chrono::seconds{30}) const {
        int status = 0;
        return eventually([&] { return ::waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_ && WIFSTOPPED(status); },
                          timeout);
    }

private:
    struct nothing {};
    explicit child(nothing) {}
    pid_t pid_ = 0;
};

// One process tells another that it has come so far.
class milestone {
public:
    milestone() {
        if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
    }
    ~milestone() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    milestone(const milestone&) = delete;
    milestone& operator=(const milestone&) = delete;

    void reach(char note = 'x') { static_cast<void>(!::write(ends_[1], &note, 1)); }
    char await() {  // 0: nobody came so far in a minute
        char note = 0;
        pollfd readable{ends_[0], POLLIN, 0};
        if (::poll(&readable, 1, 60'000) == 1) static_cast<void>(!::read(ends_[0], &note, 1));
        return note;
    }

private:
    int ends_[2];
};

}  // namespace mortise::testing
