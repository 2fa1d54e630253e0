// The state of several holds that are held together.
#pragma once

#include <mortise/config.hpp>
#include <mortise/multi_lock.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

namespace mortise::inline v0 {

namespace core {
class hold_keeper;
}

// It owns the holds, so their callbacks keep only a weak pointer to it.
struct multi_hold::state {
    state(std::vector<hold> taken, valid_while how);  // at least one

    // From now on, losing one is losing all, or with valid_while::any a step towards it. Throws errc::exhausted if no notifier thread can be started.
    static void watch(const std::shared_ptr<state>& all);

    void lose(core::hold_keeper& where, const std::string& name);  // one was lost; on the notifier of its client
    void tell_lost();
    release_result release(std::error_code& ec) noexcept;
    void start_release(release_completion done);
    bool forked() const noexcept;

    bool any() const noexcept { return rule == valid_while::any; }

    std::vector<hold> holds;
    const valid_while rule;
    std::stop_source stop;

    std::mutex releasing;  // so that concurrent releases wait for each other; never with `mutex` held
    std::mutex mutex;
    std::vector<unique_function<void()>> calls;
    core::hold_keeper* lost_at = nullptr;  // where the loss was reported
    std::size_t losses = 0;
    bool released = false;
};

}  // namespace mortise::inline v0
