#include "lab/stage/first_answer.hpp"

#include "lab/stage/interruption.hpp"
#include "support/loopback.hpp"
#include "tools/mortise/exit_codes.hpp"
#include "tools/mortise/failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

namespace lab {
namespace {

using clock = std::chrono::steady_clock;
using mortise::testing::socket_handle;

[[noreturn]] void unreachable(const std::string& name, const std::string& why) {
    throw command::failure(command::exit_code::unavailable, "--store: " + name + " " + why);
}

// False: the time is over.
bool ready(const socket_handle& socket, short event, clock::time_point until) {
    for (;;) {
        if (const int signal = interrupted())
            throw command::failure(static_cast<command::exit_code>(command::ended_by(signal)), "interrupted");
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
        if (left <= 0) return false;
        pollfd one{.fd = socket.fd(), .events = event, .revents = 0};
        if (::poll(&one, 1, static_cast<int>(std::min<decltype(left)>(left, 1000))) > 0) return true;
    }
}

bool connected(const socket_handle& socket, const addrinfo& to, clock::time_point until) {
    if (!socket) return false;
    if (::connect(socket.fd(), to.ai_addr, to.ai_addrlen) == 0) return true;
    int failed = 0;
    socklen_t size = sizeof failed;
    return errno == EINPROGRESS && ready(socket, POLLOUT, until) &&
           ::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed == 0;
}

}  // namespace

std::string first_answer(const std::string& host, std::uint16_t port, std::string_view question,
                         std::chrono::nanoseconds patience) {
    const std::string name = host + ":" + std::to_string(port);
    const auto until = clock::now() + std::min<std::chrono::nanoseconds>(patience, std::chrono::hours{1});
    addrinfo wish{};
    wish.ai_family = AF_UNSPEC;
    wish.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wish, &list); code != 0)
        unreachable(name, std::string("is not found: ") + ::gai_strerror(code));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all{list, &::freeaddrinfo};
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
        const socket_handle to{::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
        if (!connected(to, *each, until)) continue;
        std::array<char, 256> room{};
        if (::send(to.fd(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return {};
        if (!ready(to, POLLIN, until)) unreachable(name, "accepts the connection, but does not answer; is it a Redis?");
        const ssize_t size = ::recv(to.fd(), room.data(), room.size(), 0);
        return {room.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
    }
    unreachable(name, "does not let us connect; does Redis run there?");
}

}  // namespace lab
