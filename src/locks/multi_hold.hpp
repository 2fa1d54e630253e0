// The state of several holds that are held together.
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
class hold_keeper;
}

// It owns the holds, so their callbacks keep only a weak pointer to it.
struct multi_hold::state {
    explicit state(std::vector<hold> taken);  // at least one

    // From now on, losing one is losing all. Throws errc::exhausted if no notifier thread can be started.
    static void watch(const std::shared_ptr<state>& all);

    void lose(core::hold_keeper& where);  // one was lost; on the notifier of its client
    release_result release(std::error_code& ec) noexcept;
    void start_release(release_completion done);
    bool forked() const noexcept;

    std::vector<hold> holds;
    std::stop_source stop;

    std::mutex releasing;  // so that concurrent releases wait for each other; never with `mutex` held
    std::mutex mutex;
    std::vector<unique_function<void()>> calls;
    core::hold_keeper* lost_at = nullptr;  // where the first loss was reported
    bool released = false;
};

}  // namespace mortise::inline v0
