#include "stores/zookeeper/four_letters.hpp"

#include "net/endpoint.hpp"

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

// A connection, or -1.
int connected(const addrinfo& to, std::chrono::milliseconds timeout) {
    const int fd = ::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC, to.ai_protocol);
    if (fd < 0) return -1;
    const timeval limit{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // connect() obeys it too
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return fd;
    const int why = errno;
    ::close(fd);
    errno = why;
    return -1;
}

std::string_view value_of(std::string_view reply, std::string_view key) {
    const std::size_t at = reply.find(key);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = reply.substr(at + key.size());
    return rest.substr(0, rest.find_first_of("\r\n"));
}

std::uint64_t number_of(std::string_view text, int base = 10) {
    std::uint64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n, base);
    return n;
}

struct probe_result {
    std::string reply{};
    bool connected = false;
    bool refused = false;
    bool closed = false;  // by the server
};

probe_result probe(const std::string& server, std::string_view word, std::chrono::milliseconds timeout) {
    const auto at = net::endpoint::in(server, 2181);
    if (!at) return {};
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(at->host.c_str(), std::to_string(at->port).c_str(), &wanted, &found) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found, &::freeaddrinfo};
    probe_result result;
    for (const addrinfo* to = found; to != nullptr && result.reply.empty(); to = to->ai_next) {
        const int fd = connected(*to, timeout);
        result.refused = result.refused || (fd < 0 && errno == ECONNREFUSED);
        if (fd < 0) continue;
        result.connected = true;
        char room[4096];
        ssize_t got = ::send(fd, word.data(), word.size(), MSG_NOSIGNAL);
        while (got > 0 && result.reply.size() < 100'000 && (got = ::recv(fd, room, sizeof room, 0)) > 0)
            result.reply.append(room, static_cast<std::size_t>(got));
        result.closed = got == 0 || (got < 0 && (errno == ECONNRESET || errno == EPIPE));
        ::close(fd);
    }
    return result;
}

}  // namespace

std::string four_letters(const std::string& server, std::string_view word, std::chrono::milliseconds timeout) {
    return probe(server, word, timeout).reply;
}

connect_result try_connecting(const std::string& server, std::chrono::milliseconds timeout) {
    const probe_result result = probe(server, "srvr", timeout);
    if (!result.connected) return result.refused ? connect_result::refused : connect_result::accepted;
    return result.reply.empty() && result.closed ? connect_result::closed_at_once : connect_result::accepted;
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

server_facts read_facts(std::string_view reply) {
    server_facts facts;
    const std::string_view version = value_of(reply, "Zookeeper version: ");
    facts.version = version.substr(0, version.find_first_not_of("0123456789."));
    facts.mode = value_of(reply, "Mode: ");
    facts.received = number_of(value_of(reply, "Received: "));
    facts.zxid = number_of(value_of(reply, "Zxid: 0x"), 16);
    return facts;
}

}  // namespace mortise::inline v0::stores::zookeeper
