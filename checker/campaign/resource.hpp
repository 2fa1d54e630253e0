// A resource that a lock protects: one value per lock, which holders read, change and write back.
//
// It lives in a process of its own kind of honesty: it does one thing after the other, writes down what it did, and, if it is told
// to, seals. Clients reach it through a socket, so a client that is stopped between its read and its write is stopped there.
#pragma once

#include "checker/history/log.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <sys/types.h>

namespace mortise::checker {

struct resource_request {
    act what = act::read;
    std::uint32_t lock = 0;
    std::uint64_t token = 0;
    std::uint64_t value = 0;  // of a write: its id
    std::uint64_t prior = 0;  // of a write: the id that was read before
};
struct resource_reply {
    bool done = false;  // false: refused
    std::uint64_t value = 0;
};

// Pure: what the resource does.
class resource_state {
public:
    explicit resource_state(bool sealing) : sealing_(sealing) {}
    resource_reply ask(const resource_request& wanted);

private:
    struct cell {
        std::uint64_t sealed = 0;
        std::uint64_t value = 0;
    };
    const bool sealing_;
    std::map<std::uint32_t, cell> cells_{};
};

class resource_server {
public:
    // Listens at the path of a socket; notes what it does in the log, in its order.
    resource_server(std::string path, history_log& notes, bool sealing);
    ~resource_server();
    resource_server(const resource_server&) = delete;
    resource_server& operator=(const resource_server&) = delete;

    // A process that has read and not yet written: the one to stop. 0: none.
    pid_t amid() const { return amid_; }

private:
    void serve();
    bool answer(int fd);

    const std::string path_;
    history_log& notes_;
    resource_state state_;
    int listener_ = -1;
    int stop_ = -1;
    std::atomic<pid_t> amid_{0};
    std::thread thread_;
};

class resource_client {
public:
    explicit resource_client(const std::string& path);
    ~resource_client();
    resource_client(const resource_client&) = delete;
    resource_client& operator=(const resource_client&) = delete;

    // Nothing: no answer, which says nothing of whether it was done.
    std::optional<resource_reply> ask(const resource_request& wanted);

private:
    int fd_ = -1;
};

}  // namespace mortise::checker
