#include "net/poller.hpp"

#include "base/descriptors.hpp"

#include <mortise/error.hpp>

#include <cstring>

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace mortise::inline v0::net {

poller::~poller() {
    stop();
    if (epoll_ >= 0) ::close(epoll_);
}

std::uint64_t poller::add(int descriptor, std::function<void()> ready) {
    std::scoped_lock guard{mutex_};
    if (stopped_) throw error(errc::closed, "the client was closed");
    if (epoll_ < 0) {
        const base::standard_descriptors_taken out_of_the_way;
        epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
        if (epoll_ < 0) throw error(errc::exhausted, std::string("cannot watch a socket: ") + std::strerror(errno));
        clock_.watch(epoll_, [this] { look(); });
    }
    const std::uint64_t id = ++last_;
    epoll_event nothing{.events = EPOLLONESHOT, .data = {.u64 = id}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &nothing) != 0)
        throw error(errc::exhausted, std::string("cannot watch a socket: ") + std::strerror(errno));
    sockets_.emplace(id, polled_socket{descriptor, std::make_shared<std::function<void()>>(std::move(ready))});
    return id;
}

void poller::arm(std::uint64_t id, bool to_read, bool to_write) noexcept {
    std::scoped_lock guard{mutex_};
    const auto it = sockets_.find(id);
    if (it == sockets_.end()) return;
    epoll_event wanted{.events = EPOLLONESHOT, .data = {.u64 = id}};
    if (to_read) wanted.events |= EPOLLIN | EPOLLRDHUP;
    if (to_write) wanted.events |= EPOLLOUT;
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, it->second.descriptor, &wanted);
}

void poller::remove(std::uint64_t id) noexcept {
    std::shared_ptr<std::function<void()>> dropped;  // after the lock: it may own anything
    std::scoped_lock guard{mutex_};
    const auto it = sockets_.find(id);
    if (it == sockets_.end()) return;
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, it->second.descriptor, nullptr);
    dropped = std::move(it->second.ready);
    sockets_.erase(it);
}

void poller::stop() noexcept {
    std::unordered_map<std::uint64_t, polled_socket> dropped;
    std::scoped_lock guard{mutex_};
    if (std::exchange(stopped_, true)) return;
    if (epoll_ >= 0) clock_.unwatch(epoll_);
    dropped.swap(sockets_);
}

void poller::look() {
    epoll_event ready[16];
    const int n = ::epoll_wait(epoll_, ready, 16, 0);
    for (int i = 0; i < n; ++i) {
        const std::uint64_t which = ready[i].data.u64;  // no reference: on x86-64 events are packed
        std::shared_ptr<std::function<void()>> run;
        {
            std::scoped_lock guard{mutex_};
            if (const auto it = sockets_.find(which); it != sockets_.end()) run = it->second.ready;
        }
        if (run) (*run)();
    }
}

}  // namespace mortise::inline v0::net
