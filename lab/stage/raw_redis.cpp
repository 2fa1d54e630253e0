#include "lab/stage/raw_redis.hpp"

#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lab {

raw_redis::raw_redis(const std::string& host, std::uint16_t port, listener told)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), told_(std::move(told)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &at.sin_addr) != 1) throw std::runtime_error(host + " is not an address");
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
        throw std::system_error(errno, std::generic_category(), "no Redis at " + host + ":" + std::to_string(port));
}

raw_redis::~raw_redis() {
    ::close(fd_);
}

std::optional<std::string> raw_redis::operator()(const std::vector<std::string>& words) {
    std::string request = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) request += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
        throw std::runtime_error("the server has gone");
    std::optional<std::string> answer = read();
    if (told_) told_(words, answer);
    return answer;
}

std::optional<std::string> raw_redis::read() {
    const std::string first = line();
    const std::string rest = first.substr(1);
    switch (first[0]) {
        case '-':
            throw std::runtime_error("Redis says " + rest);
        case '$': {
            if (rest == "-1") return std::nullopt;
            std::string value = take(std::stoul(rest));
            take(2);
            return value;
        }
        case '*': {
            if (rest == "-1") return std::nullopt;
            std::string all;
            for (auto left = std::stol(rest); left > 0; --left) {
                if (!all.empty()) all += ' ';
                all += read().value_or("(nil)");
            }
            return all;
        }
        default:
            return rest;
    }
}

std::string raw_redis::line() {
    std::size_t ends = 0;
    while ((ends = unread_.find("\r\n")) == unread_.npos) receive();
    std::string text = take(ends);
    take(2);
    return text;
}

void raw_redis::receive() {
    char room[4096];
    const ssize_t got = ::recv(fd_, room, sizeof room, 0);
    if (got <= 0) throw std::runtime_error("the server has gone");
    unread_.append(room, static_cast<std::size_t>(got));
}

std::string raw_redis::take(std::size_t size) {
    while (unread_.size() < size) receive();
    std::string taken = unread_.substr(0, size);
    unread_.erase(0, size);
    return taken;
}

}  // namespace lab
