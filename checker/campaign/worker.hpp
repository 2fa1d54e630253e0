// A process that takes locks, changes what they protect, and writes down everything. It may be killed at any instruction.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::checker {

struct worker_orders {
    std::string url{};
    std::string log_file{};
    std::string resource{};  // the path of its socket
    std::string prefix{};    // of the names of locks
    std::uint32_t number = 0;
    std::uint64_t seed = 1;
    std::chrono::milliseconds lease{2000};
    std::chrono::milliseconds stay{20};  // inside, at most
    std::chrono::milliseconds pause{0};  // between two holds, at most
    std::uint32_t mutexes = 2;
    bool shared = true;  // readers and permits too
    bool sealing = true;
    bool checks = true;     // ends a hold as soon as it is not valid; without it, does what careless programs do
    bool in_order = false;  // all wait in order of arrival, and note when they stand in line
    bool keeps = false;     // mutexes are locked through objects, which keep them while they are idle

    // For the command line of a process, and back.
    std::vector<std::string> words() const;
    static worker_orders of(const std::vector<std::string>& words);
};

// The locks of a campaign: so many mutexes, then one read-write lock and one pool of permits.
struct lock_plan {
    std::uint32_t mutexes = 2;
    bool shared = true;

    std::uint32_t count() const { return mutexes + (shared ? 2 : 0); }
    bool is_mutex(std::uint32_t lock) const { return lock < mutexes; }
    bool is_read_write(std::uint32_t lock) const { return lock == mutexes; }
    std::string name(const std::string& prefix, std::uint32_t lock) const;
};

// Until SIGTERM. Returns the exit code.
int work(const worker_orders& orders);

}  // namespace mortise::checker
