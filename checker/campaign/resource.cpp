#include "checker/campaign/resource.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace mortise::checker {
namespace {

sockaddr_un at_path(const std::string& path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path.size() >= sizeof at.sun_path) throw std::runtime_error("this path is too long for a socket: " + path);
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    return at;
}

pid_t peer_of(int fd) {
    ucred who{};
    socklen_t length = sizeof who;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 ? who.pid : 0;
}

[[noreturn]] void no_socket(const std::string& path) {
    throw std::system_error(errno, std::generic_category(), "the resource at " + path);
}

}  // namespace

resource_reply resource_state::ask(const resource_request& wanted) {
    cell& at = cells_[wanted.lock];
    const bool newest = !sealing_ || wanted.token == at.sealed;
    switch (wanted.what) {
        case act::seal:
            if (wanted.token < at.sealed) return {};
            at.sealed = wanted.token;
            return {.done = true};
        case act::read:
            return newest ? resource_reply{true, at.value} : resource_reply{};
        case act::write:
            if (newest) at.value = wanted.value;
            return {.done = newest};
        default:
            return {};
    }
}

resource_server::resource_server(std::string path, history_log& notes, bool sealing)
    : path_(std::move(path)), notes_(notes), state_(sealing) {
    listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    stop_ = ::eventfd(0, EFD_CLOEXEC);
    const sockaddr_un at = at_path(path_);
    if (listener_ < 0 || stop_ < 0 || ::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        ::listen(listener_, SOMAXCONN) != 0)
        no_socket(path_);
    thread_ = std::thread{[this] { serve(); }};
}

resource_server::~resource_server() {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_, &one, sizeof one));
    thread_.join();
    ::close(listener_);
    ::close(stop_);
    ::unlink(path_.c_str());
}

void resource_server::serve() {
    std::vector<pollfd> all{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
    while (true) {
        if (::poll(all.data(), all.size(), -1) < 0) continue;
        if (all[0].revents != 0) break;
        for (std::size_t i = 2; i < all.size(); ++i)
            if (all[i].revents != 0 && !answer(all[i].fd)) {
                ::close(all[i].fd);
                all[i].fd = -1;
            }
        std::erase_if(all, [](const pollfd& one) { return one.fd < 0; });
        if (all[1].revents != 0)
            if (const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); fd >= 0)
                all.push_back({fd, POLLIN, 0});
    }
    for (std::size_t i = 2; i < all.size(); ++i) ::close(all[i].fd);
}

bool resource_server::answer(int fd) {
    resource_request wanted;
    if (::recv(fd, &wanted, sizeof wanted, 0) != sizeof wanted) return false;
    const resource_reply reply = state_.ask(wanted);
    if (wanted.what == act::read && reply.done) amid_ = peer_of(fd);
    if (wanted.what == act::write && amid_ == peer_of(fd)) amid_ = 0;
    notes_.write({.lock = wanted.lock,
                  .what = wanted.what,
                  .is = reply.done ? phase::ok : phase::fail,
                  .token = wanted.token,
                  .valid_until = static_cast<std::int64_t>(wanted.prior),
                  .value = wanted.what == act::read ? reply.value : wanted.value});
    return ::send(fd, &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply;
}

resource_client::resource_client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const sockaddr_un at = at_path(path);
    if (fd_ < 0 || ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) no_socket(path);
}

resource_client::~resource_client() {
    ::close(fd_);
}

std::optional<resource_reply> resource_client::ask(const resource_request& wanted) {
    resource_reply reply;
    if (::send(fd_, &wanted, sizeof wanted, MSG_NOSIGNAL) != sizeof wanted) return std::nullopt;
    if (::recv(fd_, &reply, sizeof reply, 0) != sizeof reply) return std::nullopt;
    return reply;
}

}  // namespace mortise::checker
