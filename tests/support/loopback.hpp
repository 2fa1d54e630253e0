// Loopback sockets of tests.
#pragma once

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <random>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace mortise::testing {

// A descriptor, closed with its owner.
class socket_handle {
public:
    socket_handle() = default;
    explicit socket_handle(int fd) : fd_(fd) {}
    socket_handle(socket_handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    socket_handle& operator=(socket_handle&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~socket_handle() { close(); }

    int fd() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_ = -1;
};

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

inline socket_handle tcp_socket(int flags = 0) {
    socket_handle made{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)};
    if (!made) throw std::system_error(errno, std::generic_category(), "no socket");
    return made;
}

// Listens on this port of 127.0.0.1; an empty handle if somebody else does.
inline socket_handle listener_at(std::uint16_t port, int flags = 0) {
    socket_handle made = tcp_socket(flags);
    const int on = 1;
    ::setsockopt(made.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in at = loopback(port);
    const bool ours = ::bind(made.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 &&
                      ::listen(made.fd(), SOMAXCONN) == 0;
    return ours ? std::move(made) : socket_handle{};
}

// Takes the port of UDP that has the same number: an empty handle if another process has.
inline socket_handle reservation_of(std::uint16_t port) {
    socket_handle made{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    if (!made) throw std::system_error(errno, std::generic_category(), "no socket");
    const sockaddr_in at = loopback(port);
    return ::bind(made.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 ? std::move(made)
                                                                                     : socket_handle{};
}

// A port that nobody listens on, and that no other test is given until this process ends: servers of tests are killed and come
// back, and some listen only when they lead. Not one of those that the system gives to outgoing connections: there a client
// that tries again and again while its server is down can reach itself, and the port may be taken when the server returns.
inline std::uint16_t free_port() {
    static std::mutex mutex;
    static std::vector<socket_handle> reserved;
    const std::scoped_lock guard{mutex};
    std::random_device dice;
    for (int tries = 0; tries < 1000; ++tries) {
        const auto port = static_cast<std::uint16_t>(12'000 + dice() % 20'000);
        socket_handle mine = reservation_of(port);
        if (!mine || !listener_at(port)) continue;
        reserved.push_back(std::move(mine));
        return port;
    }
    throw std::runtime_error("no free port");
}

// Somebody else listens on a port that was to be a server's: it was taken between the moment it was found free and the start.
struct port_taken : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Starts servers, on other ports each time they are taken.
template <class Start>
void with_free_ports(Start start) {
    for (int tries = 0;; ++tries) try {
            return start();
        } catch (const port_taken&) {
            if (tries == 20) throw;
        }
}

}  // namespace mortise::testing
