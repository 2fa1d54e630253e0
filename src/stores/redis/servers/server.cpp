#include "stores/redis/servers/server.hpp"

#include "stores/redis/servers/conversation.hpp"
#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

namespace mortise::inline v0::stores::redis::servers {
namespace {

testing::socket_handle connected_to(const std::string& path) {
    testing::socket_handle made{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path.size() >= sizeof at.sun_path) throw std::runtime_error(path + " is too long for a socket");
    std::memcpy(at.sun_path, path.c_str(), path.size());
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(made.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(made.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
        throw std::runtime_error("nobody listens at " + path);
    return made;
}

void add_lines(const reply& from, std::string& to) {
    if (!from.is_array) to += from.text.value_or("") + '\n';
    for (const reply& each : from.elements) add_lines(each, to);
}

constexpr std::chrono::seconds plenty{20};

}  // namespace

server::server(const testing::server_group& home, setup how)
    : home_(home), settings_(std::move(how)), process_(home_, write_configuration(), directory() + "/log") {}

// In a file, because a sentinel writes down there what it learns. Answers the command.
std::vector<std::string> server::write_configuration() const {
    std::filesystem::create_directory(directory());
    const std::string file = directory() + "/redis.conf";
    std::ofstream out{file};
    out << "bind 127.0.0.1\n"
        << (settings_.tls ? "port 0\ntls-port " : "port ") << settings_.port << "\nunixsocket " << socket() << "\ndir "
        << directory() << "\n";
    if (!settings_.is_sentinel) out << "save \"\"\nrepl-diskless-sync-delay 0\nenable-debug-command local\n";
    for (const std::string& line : settings_.lines) out << line << "\n";
    std::vector<std::string> command = settings_.run_by;
    command.insert(command.end(), {"redis-server", file});
    if (settings_.is_sentinel) command.push_back("--sentinel");
    return command;
}

bool server::ready() {
    try {
        return running() && command({"ping"}) == "PONG";
    } catch (const std::runtime_error&) {
        return false;  // it starts, or reads its data
    }
}

void server::await_ready() {
    const bool came = testing::eventually([&] { return !running() || ready(); }, plenty);
    if (came && running()) return;
    const std::string said = process_.last_words();
    if (said.find("Address already in use") != std::string::npos) throw testing::port_taken(said);
    throw std::runtime_error(settings_.name + (came ? " has ended: " : " does not get ready: ") + said);
}

void server::restart() {
    std::filesystem::remove(directory() + "/log");  // an old complaint is not a new one
    process_.start();
    await_ready();
}

std::string server::command(const std::vector<std::string>& words) {
    conversation with{connected_to(socket())};
    if (!settings_.user.empty()) with.ask({"auth", settings_.user, settings_.password});
    std::string lines;
    add_lines(with.ask(words), lines);
    if (!lines.empty()) lines.pop_back();  // the last end of line
    return lines;
}

std::string server::field(const std::vector<std::string>& words, const std::string& name) {
    const std::string answer = "\n" + command(words);
    const std::size_t found = answer.find("\n" + name + ":");
    if (found == std::string::npos) return {};
    const std::size_t begins = found + name.size() + 2;
    return answer.substr(begins, answer.find_first_of("\r\n", begins) - begins);
}

}  // namespace mortise::inline v0::stores::redis::servers
