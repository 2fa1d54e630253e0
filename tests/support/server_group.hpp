// Servers that a test starts: processes and a directory that go with it, whatever happens to it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace mortise::testing {

// A directory for files of servers, and the processes started in it. All are gone when the object is, and soon after the
// process that made it has ended in any other way: a guardian outlives it, kills the servers and removes the directory.
class server_group {
public:
    server_group();
    ~server_group();
    server_group(const server_group&) = delete;
    server_group& operator=(const server_group&) = delete;

    const std::string& directory() const { return directory_; }
    std::string operator/(const std::string& name) const { return directory_ + "/" + name; }

    pid_t id() const { return guardian_; }  // of the group of processes

private:
    std::string directory_;
    pid_t maker_;
    pid_t guardian_ = 0;
    int dismissal_ = -1;
};

// One server. Not for several threads at once.
class server_process {
public:
    // Runs the command, a program in the PATH and its arguments; what it prints goes to the file `log`.
    server_process(const server_group& home, std::vector<std::string> command, std::string log);
    ~server_process();
    server_process(const server_process&) = delete;
    server_process& operator=(const server_process&) = delete;

    void start();          // after kill(), or when it has ended
    void kill();           // SIGKILL; it is gone when this returns
    void end(int signal);  // the same, after some seconds in which it may clean up
    void freeze();         // SIGSTOP; it stands when this returns
    void thaw();

    bool running() const;  // frozen or not
    bool frozen() const { return frozen_; }
    pid_t pid() const { return pid_; }
    std::string last_words() const;  // the end of its log

private:
    const server_group& home_;
    const std::vector<std::string> command_;
    const std::string log_;
    const pid_t maker_;
    pid_t pid_ = 0;
    bool frozen_ = false;
};

}  // namespace mortise::testing
