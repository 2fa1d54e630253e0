#include "core/io_clock.hpp"

#include "base/descriptors.hpp"
#include "base/quiet_thread.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace mortise::inline v0::core {

io_clock::io_clock() = default;

io_clock::~io_clock() {
    stop();
    if (epoll_fd_ >= 0) ::close(epoll_fd_);
    if (timer_fd_ >= 0) ::close(timer_fd_);
}

auto io_clock::at(time_point when, spi::task what) -> timer_id {
    std::scoped_lock guard{mutex_};
    if (stopped_) return 0;
    start();
    const timer_id id = timers_.add(when, std::move(what));
    if (when < alarm_) set_alarm();
    return id;
}

void io_clock::cancel(timer_id id) noexcept {
    spi::task dropped;  // destroyed after the lock: it may own anything
    std::scoped_lock guard{mutex_};
    dropped = timers_.cancel(id);
}

void io_clock::stop() noexcept {
    timers dropped;
    {
        std::scoped_lock guard{mutex_};
        stopped_ = true;
        std::swap(dropped, timers_);
        if (thread_.joinable()) set_alarm();
    }
    if (thread_.joinable()) thread_.join();
}

void io_clock::watch(int fd, std::function<void()> when_readable) {
    std::scoped_lock guard{mutex_};
    if (stopped_) return;
    start();
    watched_[fd] = std::make_shared<std::function<void()>>(std::move(when_readable));
    epoll_event readable{.events = EPOLLIN, .data = {.fd = fd}};
    if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &readable) != 0)
        throw error(errc::exhausted, std::string("cannot watch a descriptor: ") + std::strerror(errno));
}

void io_clock::unwatch(int fd) noexcept {
    std::shared_ptr<std::function<void()>> dropped;
    std::scoped_lock guard{mutex_};
    if (const auto it = watched_.find(fd); it != watched_.end()) {
        dropped = std::move(it->second);
        watched_.erase(it);
        ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
    }
}

// Sleeps until the alarm or a descriptor, and runs what watches the latter.
void io_clock::wait() {
    epoll_event ready[16];
    const int n = ::epoll_wait(epoll_fd_, ready, 16, -1);
    for (int i = 0; i < n; ++i) {
        if (ready[i].data.fd == timer_fd_) {
            std::uint64_t times = 0;
            static_cast<void>(!::read(timer_fd_, &times, sizeof times));
            continue;
        }
        std::shared_ptr<std::function<void()>> run;
        {
            std::scoped_lock guard{mutex_};
            const auto it = watched_.find(ready[i].data.fd);
            if (it != watched_.end() && !stopped_) run = it->second;
        }
        if (run) (*run)();
    }
}

void io_clock::start() {
    if (thread_.joinable()) return;
    const base::standard_descriptors_taken out_of_the_way;
    if (timer_fd_ < 0) timer_fd_ = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer_fd_ >= 0 && epoll_fd_ < 0) {
        epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
        epoll_event alarm{.events = EPOLLIN, .data = {.fd = timer_fd_}};
        if (epoll_fd_ >= 0) ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, timer_fd_, &alarm);
    }
    if (epoll_fd_ < 0)
        throw error(errc::exhausted, std::string("cannot make a timer: ") + std::strerror(errno) +
                                         "; raise the limit of open files (ulimit -n)");
    thread_ = base::quiet_thread("mortise-io", [this] { run(); });
}

// The timerfd is also how the thread is woken: any earlier alarm, or one in the past to stop.
void io_clock::set_alarm() {
    const time_point next = stopped_ ? time_point{} : timers_.next();
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
        while (spi::task one = timers_.take_due(now)) due.push_back(std::move(one));
        if (due.empty()) set_alarm();
        guard.unlock();
        if (due.empty()) wait();
        for (spi::task& one : due) one();
        due.clear();
        guard.lock();
    }
}

}  // namespace mortise::inline v0::core
