#include "stores/zookeeper/four_letters.hpp"

#include <algorithm>
#include <cerrno>
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
    const int why = errno;
    ::close(fd);
    errno = why;
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

// What was said until the end, and whether the server made that end.
struct conversation {
    std::string said{};
    bool begun = false;
    bool refused = false;
    bool closed = false;
};

conversation converse(const std::string& server, std::string_view word, std::chrono::milliseconds patience) {
    const std::size_t colon = server.rfind(':');
    std::string host = server.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), server.substr(colon + 1).c_str(), &wanted, &found) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found, &::freeaddrinfo};
    conversation heard;
    for (const addrinfo* to = found; to != nullptr && heard.said.empty(); to = to->ai_next) {
        const int fd = connected(*to, patience);
        heard.refused = heard.refused || (fd < 0 && errno == ECONNREFUSED);
        if (fd < 0) continue;
        heard.begun = true;
        char room[4096];
        ssize_t got = ::send(fd, word.data(), word.size(), MSG_NOSIGNAL);
        while (got > 0 && heard.said.size() < 100'000 && (got = ::recv(fd, room, sizeof room, 0)) > 0)
            heard.said.append(room, static_cast<std::size_t>(got));
        heard.closed = got == 0 || (got < 0 && (errno == ECONNRESET || errno == EPIPE));
        ::close(fd);
    }
    return heard;
}

}  // namespace

std::string four_letters(const std::string& server, std::string_view word, std::chrono::milliseconds patience) {
    return converse(server, word, patience).said;
}

door door_of(const std::string& server, std::chrono::milliseconds patience) {
    const conversation heard = converse(server, "srvr", patience);
    if (!heard.begun) return heard.refused ? door::nobody : door::open;
    return heard.said.empty() && heard.closed ? door::turns_away : door::open;
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
