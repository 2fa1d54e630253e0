#include "core/io_clock.hpp"

#include "base/quiet_thread.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace mortise::inline v0::core {

io_clock::io_clock() = default;

io_clock::~io_clock() {
    stop();
    if (timer_fd_ >= 0) ::close(timer_fd_);
}

auto io_clock::at(time_point when, spi::task what) -> timer_id {
    std::scoped_lock guard{mutex_};
    if (stopped_) return 0;
    start();
    const timer_id id = ++last_id_;
    by_id_.emplace(id, agenda_.emplace(when, timer{id, std::move(what)}));
    if (when < alarm_) set_alarm();
    return id;
}

void io_clock::cancel(timer_id id) noexcept {
    spi::task dropped;  // destroyed after the lock: it may own anything
    std::scoped_lock guard{mutex_};
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) return;
    dropped = std::move(it->second->second.what);
    agenda_.erase(it->second);
    by_id_.erase(it);
}

void io_clock::stop() noexcept {
    agenda dropped;
    {
        std::scoped_lock guard{mutex_};
        stopped_ = true;
        dropped.swap(agenda_);
        by_id_.clear();
        if (thread_.joinable()) set_alarm();
    }
    if (thread_.joinable()) thread_.join();
}

void io_clock::start() {
    if (thread_.joinable()) return;
    if (timer_fd_ < 0) timer_fd_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    if (timer_fd_ < 0)
        throw error(errc::exhausted, std::string("cannot make a timer: ") + std::strerror(errno) +
                                         "; raise the limit of open files (ulimit -n)");
    thread_ = base::quiet_thread("mortise-io", [this] { run(); });
}

// The timerfd is also how the thread is woken: any earlier alarm, or one in the past to stop.
void io_clock::set_alarm() {
    const time_point next = stopped_ ? time_point{} : agenda_.empty() ? time_point::max() : agenda_.begin()->first;
    alarm_ = next;
    itimerspec alarm{};
    if (next != time_point::max()) {
        const auto since_boot = std::max(next.time_since_epoch(), boot_clock::duration{1});
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
        alarm.it_value.tv_sec = whole.count();
        alarm.it_value.tv_nsec = (since_boot - whole).count();
    }
    ::timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &alarm, nullptr);
}

void io_clock::run() {
    std::unique_lock guard{mutex_};
    std::vector<spi::task> due;
    while (!stopped_) {
        const time_point now = boot_clock::now();
        while (!agenda_.empty() && agenda_.begin()->first <= now) {
            due.push_back(std::move(agenda_.begin()->second.what));
            by_id_.erase(agenda_.begin()->second.id);
            agenda_.erase(agenda_.begin());
        }
        if (due.empty()) set_alarm();
        guard.unlock();
        if (due.empty()) {
            std::uint64_t times = 0;
            static_cast<void>(!::read(timer_fd_, &times, sizeof times));
        }
        for (spi::task& one : due) one();
        due.clear();
        guard.lock();
    }
}

}  // namespace mortise::inline v0::core
