// The door through which everything between the core and a faulty store passes.
#pragma once

#include <mortise/spi/clock.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::testing {

// Requests, replies and pushes of one store are tasks that pass at once, after a delay, or when the gate thaws, in
// order of arrival. What is waiting when the gate is shut is dropped, and shut() returns only when nothing is passing
// any more (its own caller excepted), so a task may use the store it belongs to.
//
// Waiting tasks live here and not in the clock: a task owns a reply, a reply may own the client, the client owns the
// clock, and that ring would never be freed.
class fault_gate : public std::enable_shared_from_this<fault_gate> {
public:
    void pass(spi::task what);
    void pass_after(spi::clock& clock, std::chrono::nanoseconds delay, spi::task what);

    void freeze();
    void thaw();
    void shut();

private:
    enum class state { open, frozen, thawing, shut };

    void run(spi::task what);

    std::mutex mutex_;
    std::condition_variable left_;
    state state_ = state::open;
    std::deque<spi::task> frozen_;
    std::unordered_map<std::uint64_t, spi::task> delayed_;
    std::uint64_t last_delayed_ = 0;
    std::vector<std::thread::id> inside_;  // one entry per running task; tasks nest
};

}  // namespace mortise::testing
