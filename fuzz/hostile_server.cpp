#include "fuzz/hostile_server.hpp"

#include <mortise/error.hpp>

#include <chrono>
#include <cstdlib>
#include <system_error>

#include <poll.h>

namespace mortise::fuzzing {

using namespace std::chrono_literals;

hostile_server::hostile_server(manners of) : manners_(of) {
    do {
        port_ = testing::free_port();
        door_ = testing::listener_at(port_);
    } while (!door_);
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        throw std::system_error(errno, std::generic_category(), "no pair of sockets");
    bell_[0] = testing::socket_handle{pair[0]};
    bell_[1] = testing::socket_handle{pair[1]};
    serving_ = std::jthread{[this](const std::stop_token& stop) { serve(stop); }};
}

hostile_server::~hostile_server() {
    serving_.request_stop();
    static_cast<void>(!::send(bell_[1].fd(), "!", 1, MSG_NOSIGNAL));
}

void hostile_server::answer_from(std::string_view input) {
    const std::scoped_lock guard{mutex_};
    guests_.clear();
    input_ = input;
    next_ = 0;
    static_cast<void>(!::send(bell_[1].fd(), "!", 1, MSG_NOSIGNAL));
}

void hostile_server::serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        std::vector<pollfd> looks{{door_.fd(), POLLIN, 0}, {bell_[0].fd(), POLLIN, 0}};
        {
            const std::scoped_lock guard{mutex_};
            for (const guest& each : guests_) looks.push_back({each.socket.fd(), POLLIN, 0});
        }
        if (::poll(looks.data(), looks.size(), 1000) <= 0) continue;
        char rung[64];
        if (looks[1].revents != 0) {  // the guests have changed
            static_cast<void>(!::recv(bell_[0].fd(), rung, sizeof rung, 0));
            continue;
        }
        const std::scoped_lock guard{mutex_};
        std::erase_if(guests_, [&](guest& each) {
            for (const pollfd& look : looks)
                if (look.fd == each.socket.fd() && look.revents != 0) return !heard(each);
            return false;
        });
        if (looks[0].revents != 0) admit();
    }
}

void hostile_server::admit() {
    guest come{testing::socket_handle{::accept4(door_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)}};
    if (!come.socket) return;
    if (manners_ == manners::greets && !answer(come)) return;
    if (next_ != std::string::npos) guests_.push_back(std::move(come));
}

// False: it has gone, or there is nothing left to say to it.
bool hostile_server::heard(guest& from) {
    char bytes[64 * 1024];
    const auto size = ::recv(from.socket.fd(), bytes, sizeof bytes, 0);
    return size > 0 && answer(from);
}

bool hostile_server::answer(const guest& to) {
    if (next_ == std::string::npos) return false;
    const auto end = input_.find(between, next_);
    const std::string_view says = std::string_view{input_}.substr(next_, end - next_);
    next_ = end == std::string::npos ? end : end + between.size();
    return says.empty() ||
           ::send(to.socket.fd(), says.data(), says.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(says.size());
}

namespace {

std::string with_port(std::string address, std::uint16_t port) {
    return address.replace(address.find("%p"), 2, std::to_string(port));
}

client_options impatient() {
    client_options options;
    options.reply_timeout = 20ms;
    options.patience = 30ms;
    options.try_patience = 0ms;
    options.release_wait = 20ms;
    options.close_wait = 20ms;
    return options;
}

void use(const std::string& store, const client_options& options) {
    client locks{store, options};
    std::error_code ec;
    {
        attempt got = locks.try_acquire("name", {.wait = 15ms, .lease = 2s});
        attempt again = locks.try_acquire("name", {.lease = 2s, .hand_over = hand_over::off});
        if (got) got->release(ec);
    }
    const auto held = locks.list(ec);
    if (!held.empty()) locks.break_lock(held.front().name, held.front().holder.token, "fuzz", ec);
    static_cast<void>(locks.check(ec));
}

}  // namespace

void drive(std::string_view input, const std::string& address, hostile_server::manners manners) try {
    if (const char* real = std::getenv("MORTISE_FUZZ_STORE")) return use(real, {});
    static hostile_server server{manners};
    server.answer_from(input);
    use(with_port(address, server.port()), impatient());
    server.answer_from({});
} catch (const error&) {
    // A store that is refused for what it says of itself.
}

}  // namespace mortise::fuzzing
