// The clock of a client on the stage: it shows the stage's time, and its timers run when the director lets time pass.
#pragma once

#include "lab/stage/time.hpp"

#include <mortise/spi/clock.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

namespace lab {

// The director sends one byte down `ticks` after it has moved the time. What is due then runs on the clock's own thread, which
// calls `ticked` with that byte after it. Descriptors are watched as ever: servers are real, only time is not.
class stage_clock final : public mortise::spi::clock {
public:
    stage_clock(const stage_time& time, int ticks, std::function<void(char)> ticked);
    ~stage_clock() override;

    time_point now() const noexcept override;
    timer_id at(time_point when, mortise::spi::task what) override;
    void cancel(timer_id) noexcept override;
    void watch(int fd, std::function<void()> when_readable) override;
    void unwatch(int fd) noexcept override;

    time_point next_timer() const;  // time_point::max() if there is none

private:
    void run();
    void nudge() const noexcept;
    void run_due();
    void serve(int fd);

    const stage_time& time_;
    const int ticks_;
    const std::function<void(char)> ticked_;
    const int epoll_;
    const int nudge_;  // wakes the thread: something is due at once, or it is over

    mutable std::mutex mutex_;
    bool over_ = false;
    timer_id last_ = 0;
    std::map<std::pair<time_point, timer_id>, mortise::spi::task> timers_;
    std::unordered_map<timer_id, time_point> due_;
    std::unordered_map<int, std::shared_ptr<std::function<void()>>> watched_;
    std::thread thread_;
};

}  // namespace lab
