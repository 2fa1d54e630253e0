#include "stores/zookeeper/four_letters.hpp"

#include <algorithm>
#include <charconv>
#include <memory>

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

// A connection that is made in time, or -1.
int connected(const addrinfo& to, std::chrono::milliseconds patience) {
    const int fd = ::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC, to.ai_protocol);
    if (fd < 0) return -1;
    const timeval limit{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // of connect too
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return fd;
    ::close(fd);
    return -1;
}

std::string_view value_of(std::string_view said, std::string_view key) {
    const std::size_t at = said.find(key);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = said.substr(at + key.size());
    return rest.substr(0, rest.find_first_of("\r\n"));
}

std::uint64_t number_of(std::string_view text, int base = 10) {
    std::uint64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n, base);
    return n;
}

}  // namespace

std::string four_letters(const std::string& server, std::string_view word, std::chrono::milliseconds patience) {
    const std::size_t colon = server.rfind(':');
    std::string host = server.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), server.substr(colon + 1).c_str(), &wanted, &found) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found, &::freeaddrinfo};
    std::string said;
    for (const addrinfo* to = found; to != nullptr && said.empty(); to = to->ai_next) {
        const int fd = connected(*to, patience);
        if (fd < 0) continue;
        char room[4096];
        if (::send(fd, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size()))
            for (ssize_t got = 0; said.size() < 100'000 && (got = ::recv(fd, room, sizeof room, 0)) > 0;)
                said.append(room, static_cast<std::size_t>(got));
        ::close(fd);
    }
    return said;
}

std::vector<std::string> each_server(const std::string& servers) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at <= servers.size();) {
        const std::size_t ends = std::min(servers.find(',', at), servers.size());
        all.push_back(servers.substr(at, ends - at));
        at = ends + 1;
    }
    return all;
}

server_facts read_facts(std::string_view said) {
    server_facts told;
    const std::string_view version = value_of(said, "Zookeeper version: ");
    told.version = version.substr(0, version.find_first_not_of("0123456789."));
    told.mode = value_of(said, "Mode: ");
    told.received = number_of(value_of(said, "Received: "));
    told.zxid = number_of(value_of(said, "Zxid: 0x"), 16);
    return told;
}

}  // namespace mortise::inline v0::stores::zookeeper
