// The processes of a campaign, and what can be done to them.
#pragma once

#include "checker/campaign/worker.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace mortise::checker {

// Starts workers as processes of this program and replaces those that are killed. For one thread.
class crew {
public:
    struct setup {
        std::size_t size = 5;
        worker_orders orders{};               // what all have in common
        std::string directory{};              // for their logs
        std::vector<std::string> urls{};      // one each, if they differ: each through a proxy of its own
        std::vector<std::string> settings{};  // of their environment: "NAME=value"
    };
    explicit crew(setup how);
    ~crew();
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;

    std::size_t size() const { return members_.size(); }
    std::optional<std::size_t> find(pid_t pid) const;

    bool kill(std::size_t i);     // SIGKILL; whether that is what it died of. It is gone when this returns
    void replace(std::size_t i);  // by a new one, with a log of its own
    bool stop(std::size_t i);     // SIGSTOP; whether it was seen to stand
    bool stands(std::size_t i) const;
    void go_on(std::size_t i);  // SIGCONT
    void tell(std::size_t i, int signal) const;

    // Stops one of its threads, whichever the number falls on; one at a time. Whether it was seen to stand, then and in the end.
    bool stop_thread(std::size_t i, std::uint64_t which);
    bool let_thread_go_on();
    bool can_stop_threads();  // the kernel may not allow it

    // It may open no file and no connection more than it has. Whether that could be set.
    bool limit_descriptors(std::size_t i, bool limited);

    // Tells all to leave, and waits; who does not leave in time is killed. Returns what went wrong: a worker that did not leave.
    std::vector<std::string> dismiss(std::chrono::seconds patience);

    // Workers that ended by themselves, which none should; they are replaced.
    std::vector<std::string> look_after();

    const std::vector<std::string>& logs() const { return logs_; }
    std::size_t started() const { return logs_.size(); }

private:
    struct member {
        pid_t pid = 0;
        std::uint64_t generation = 0;
    };
    void start(std::size_t i);

    const setup how_;
    std::vector<member> members_;
    std::vector<std::string> logs_;
    pid_t stopped_thread_ = 0;
    pid_t process_of_it_ = 0;
};

// If this process was started by a crew: works, and returns the exit code. Otherwise nothing.
std::optional<int> work_if_told();

}  // namespace mortise::checker
