// The thread on which user callbacks run.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <chrono>
#include <memory>
#include <thread>

namespace mortise::inline v0::core {

// Starts with the first task. A callback that never returns must not keep a destructor waiting, so what the thread works
// on is shared with it, and stop() leaves it behind after a bounded wait; it still runs what was posted before.
class notifier_thread final : public spi::notifier {
public:
    notifier_thread();
    ~notifier_thread() override;

    void post(spi::task what) override;  // throws errc::exhausted if there is no thread to be had, closed once stopped

    // Runs what was posted, but waits for that no longer than `patience`. Called from a callback it does not wait.
    void stop(std::chrono::nanoseconds patience) noexcept;

private:
    struct mailbox;
    std::shared_ptr<mailbox> mailbox_;
    std::thread thread_;
};

}  // namespace mortise::inline v0::core
