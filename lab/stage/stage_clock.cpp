#include "lab/stage/stage_clock.hpp"

#include <cerrno>
#include <system_error>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lab {
namespace {

void add_to(int epoll, int fd) {
    epoll_event readable{.events = EPOLLIN, .data = {.fd = fd}};
    if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &readable) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot watch a descriptor");
}

}  // namespace

stage_clock::stage_clock(const stage_time& time, int ticks, std::function<void(char)> ticked)
    : time_(time),
      ticks_(ticks),
      ticked_(std::move(ticked)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      nudge_(::eventfd(0, EFD_CLOEXEC)) {
    add_to(epoll_, ticks_);
    add_to(epoll_, nudge_);
    thread_ = std::thread([this] { run(); });
}

stage_clock::~stage_clock() {
    {
        std::scoped_lock guard{mutex_};
        over_ = true;
    }
    nudge();
    thread_.join();
    ::close(epoll_);
    ::close(nudge_);
}

void stage_clock::nudge() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(nudge_, &one, sizeof one));
}

auto stage_clock::now() const noexcept -> time_point {
    return time_point{time_.now()};
}

auto stage_clock::at(time_point when, mortise::spi::task what) -> timer_id {
    std::scoped_lock guard{mutex_};
    const timer_id id = ++last_;
    timers_.emplace(std::pair{when, id}, std::move(what));
    due_.emplace(id, when);
    if (when <= now()) nudge();  // it does not wait for time to pass
    return id;
}

void stage_clock::cancel(timer_id which) noexcept {
    mortise::spi::task dropped;  // destroyed after the lock: it may own anything
    std::scoped_lock guard{mutex_};
    const auto found = due_.find(which);
    if (found == due_.end()) return;
    const auto timer = timers_.find({found->second, which});
    dropped = std::move(timer->second);
    timers_.erase(timer);
    due_.erase(found);
}

void stage_clock::watch(int fd, std::function<void()> when_readable) {
    std::scoped_lock guard{mutex_};
    watched_[fd] = std::make_shared<std::function<void()>>(std::move(when_readable));
    add_to(epoll_, fd);
}

void stage_clock::unwatch(int fd) noexcept {
    std::shared_ptr<std::function<void()>> dropped;
    std::scoped_lock guard{mutex_};
    if (const auto found = watched_.find(fd); found != watched_.end()) {
        dropped = std::move(found->second);
        watched_.erase(found);
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    }
}

auto stage_clock::next_timer() const -> time_point {
    std::scoped_lock guard{mutex_};
    return timers_.empty() ? time_point::max() : timers_.begin()->first.first;
}

void stage_clock::run_due() {
    for (;;) {
        mortise::spi::task what;
        {
            std::scoped_lock guard{mutex_};
            const auto first = timers_.begin();
            if (first == timers_.end() || first->first.first > now()) return;
            what = std::move(first->second);
            due_.erase(first->first.second);
            timers_.erase(first);
        }
        what();
    }
}

void stage_clock::serve(int fd) {
    std::shared_ptr<std::function<void()>> run;
    {
        std::scoped_lock guard{mutex_};
        if (const auto found = watched_.find(fd); found != watched_.end()) run = found->second;
    }
    if (run) (*run)();
}

void stage_clock::run() {
    for (;;) {
        epoll_event ready{};
        if (::epoll_wait(epoll_, &ready, 1, -1) != 1) continue;
        if (ready.data.fd == ticks_) {
            char tick = 0;
            if (::recv(ticks_, &tick, 1, 0) <= 0) return;  // there is no director any more
            run_due();
            ticked_(tick);
        } else if (ready.data.fd == nudge_) {
            std::uint64_t times = 0;
            static_cast<void>(!::read(nudge_, &times, sizeof times));
            if (std::scoped_lock guard{mutex_}; over_) return;
            run_due();
        } else {
            serve(ready.data.fd);
        }
    }
}

}  // namespace lab
