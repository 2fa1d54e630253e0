#include "stores/redis/servers/conversation.hpp"

#include <stdexcept>

#include <sys/socket.h>

namespace mortise::inline v0::stores::redis::servers {

reply conversation::ask(const std::vector<std::string>& words) {
    send(words);
    return read();
}

void conversation::send(const std::vector<std::string>& words) {
    std::string request = "*" + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) request += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    if (::send(socket_.fd(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
        throw std::runtime_error("the server does not listen");
}

void conversation::need(std::size_t size) {
    while (unread_.size() < size) {
        char room[4096];
        const ssize_t got = ::recv(socket_.fd(), room, sizeof room, 0);
        if (got <= 0) throw std::runtime_error("the server does not answer");
        unread_.append(room, static_cast<std::size_t>(got));
    }
}

std::string conversation::take(std::size_t size) {
    need(size + 2);
    std::string taken = unread_.substr(0, size);
    unread_.erase(0, size + 2);
    return taken;
}

std::string conversation::take_line() {
    std::size_t ends = 0;
    while ((ends = unread_.find("\r\n")) == std::string::npos) need(unread_.size() + 1);
    return take(ends);
}

// As the server writes them: "+OK", ":1", "$5 hello", "*2 ...", "-ERR ...".
reply conversation::read() {
    const std::string line = take_line();
    const std::string rest = line.substr(1);
    reply made;
    switch (line.at(0)) {
        case '-':
            throw std::runtime_error(rest);
        case '$':
            if (rest != "-1") made.text = take(std::stoul(rest));
            break;
        case '*':
            made.is_array = rest != "-1";
            for (auto left = std::stol(rest); left > 0; --left) made.elements.push_back(read());
            break;
        default:
            made.text = rest;
    }
    return made;
}

}  // namespace mortise::inline v0::stores::redis::servers
