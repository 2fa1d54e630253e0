// What several holds have in common once all are taken.
#pragma once

#include <mortise/config.hpp>
#include <mortise/multi_lock.hpp>

#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <vector>

namespace mortise::inline v0 {

namespace core {
class engine;
}

// The callbacks of the holds keep only a weak hand on it: it owns the holds, and they must not own it.
struct multi_hold::state {
    explicit state(std::vector<hold> taken);  // at least one

    // From now on the loss of one is the loss of all. Throws errc::exhausted without a thread to tell it on.
    static void watch(const std::shared_ptr<state>& all);

    void fall(core::engine& where);  // one was lost; on the notifier of its client
    release_result release(std::error_code& ec) noexcept;
    void start_release(release_completion done);
    bool forked() const noexcept;

    std::vector<hold> holds;
    std::stop_source stop;

    std::mutex giving_back;  // so that two who release wait for each other's answers; never with `mutex` held
    std::mutex mutex;
    std::vector<unique_function<void()>> calls;
    core::engine* fallen = nullptr;  // where the first loss was told
    bool released = false;
};

}  // namespace mortise::inline v0
