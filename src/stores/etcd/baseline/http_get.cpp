#include "stores/etcd/baseline/http_get.hpp"

#include "net/endpoint.hpp"

#include <memory>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace mortise::inline v0::stores::etcd {
namespace {

struct closed_at_end {
    int fd;
    ~closed_at_end() {
        if (fd >= 0) ::close(fd);
    }
};

}  // namespace

std::string http_get(const std::string& endpoint, const std::string& path) {
    const auto at = net::endpoint::in(endpoint, 2379);
    if (!at) return {};
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(at->host.c_str(), std::to_string(at->port).c_str(), &wanted, &found) != 0) return {};
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all{found, ::freeaddrinfo};
    const closed_at_end line{::socket(all->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const timeval patience{.tv_sec = 3, .tv_usec = 0};
    ::setsockopt(line.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(line.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (::connect(line.fd, all->ai_addr, all->ai_addrlen) != 0 ||
        ::send(line.fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
        return {};
    std::string page;
    char room[4096];
    for (ssize_t got = 0; (got = ::recv(line.fd, room, sizeof room, 0)) > 0;)
        page.append(room, static_cast<std::size_t>(got));
    return page;
}

}  // namespace mortise::inline v0::stores::etcd
