// Real time: boot_clock, and one thread that runs timers.
#pragma once

#include "core/timers.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>

namespace mortise::inline v0::core {

// The thread starts with the first timer. It sleeps on a timerfd of CLOCK_BOOTTIME: a condition variable counts on
// CLOCK_MONOTONIC, which stands still in suspend, so after a night's sleep it would notice a lost lease hours late.
class io_clock final : public spi::clock {
public:
    io_clock();
    ~io_clock() override;

    time_point now() const noexcept override { return boot_clock::now(); }
    timer_id at(time_point when, spi::task what) override;  // throws errc::exhausted if the thread cannot be started
    void cancel(timer_id) noexcept override;
    void watch(int fd, std::function<void()> when_readable) override;
    void unwatch(int fd) noexcept override;

    // No timer runs after this returns; further ones are ignored. Not to be called from a timer.
    void stop() noexcept;

private:
    void start();  // both with mutex_ held
    void set_alarm();
    void wait();
    void run();

    std::mutex mutex_;
    timers timers_;
    time_point alarm_ = time_point::max();
    int timer_fd_ = -1;
    int epoll_fd_ = -1;
    std::unordered_map<int, std::shared_ptr<std::function<void()>>> watched_;
    bool stopped_ = false;
    std::thread thread_;
};

}  // namespace mortise::inline v0::core
