#include "stores/redis/servers/server.hpp"

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

// As the server writes them: "+OK", ":1", "$5 hello", "*2 ...", "-ERR ...".
class conversation {
public:
    explicit conversation(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        if (path.size() >= sizeof at.sun_path) throw std::runtime_error(path + " is too long for a socket");
        std::memcpy(at.sun_path, path.c_str(), path.size());
        const timeval patience{.tv_sec = 10, .tv_usec = 0};
        ::setsockopt(socket_.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (::connect(socket_.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
            throw std::runtime_error("nobody listens at " + path);
    }

    std::string ask(const std::vector<std::string>& words) {
        std::string request = "*" + std::to_string(words.size()) + "\r\n";
        for (const std::string& word : words) request += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
        if (::send(socket_.fd(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
            throw std::runtime_error("the server does not listen");
        std::string answer;
        read_value(answer);
        if (!answer.empty()) answer.pop_back();  // the last end of line
        return answer;
    }

private:
    void need(std::size_t size) {
        while (unread_.size() < size) {
            char room[4096];
            const ssize_t got = ::recv(socket_.fd(), room, sizeof room, 0);
            if (got <= 0) throw std::runtime_error("the server does not answer");
            unread_.append(room, static_cast<std::size_t>(got));
        }
    }
    std::string take(std::size_t size) {
        need(size + 2);
        std::string taken = unread_.substr(0, size);
        unread_.erase(0, size + 2);
        return taken;
    }
    std::string take_line() {
        std::size_t ends = 0;
        while ((ends = unread_.find("\r\n")) == std::string::npos) need(unread_.size() + 1);
        return take(ends);
    }
    void read_value(std::string& into) {
        const std::string line = take_line();
        const std::string rest = line.substr(1);
        switch (line.at(0)) {
            case '-':
                throw std::runtime_error(rest);
            case '$':
                into += (rest == "-1" ? "" : take(std::stoul(rest))) + '\n';
                break;
            case '*':
                for (int left = std::stoi(rest); left > 0; --left) read_value(into);
                break;
            default:
                into += rest + '\n';
        }
    }

    const testing::socket_handle socket_;
    std::string unread_;
};

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
    conversation with{socket()};
    if (!settings_.user.empty()) with.ask({"auth", settings_.user, settings_.password});
    return with.ask(words);
}

std::string server::field(const std::vector<std::string>& words, const std::string& name) {
    const std::string answer = "\n" + command(words);
    const std::size_t found = answer.find("\n" + name + ":");
    if (found == std::string::npos) return {};
    const std::size_t begins = found + name.size() + 2;
    return answer.substr(begins, answer.find_first_of("\r\n", begins) - begins);
}

}  // namespace mortise::inline v0::stores::redis::servers
