#include "lab/stage/raw_redis.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <netdb.h>
#include <sys/socket.h>

namespace lab {
namespace {

using mortise::stores::redis::servers::reply;
using mortise::testing::socket_handle;

socket_handle connected_to(const redis_address& where) {
    addrinfo wish{};
    wish.ai_family = AF_UNSPEC;
    wish.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int code = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &wish, &list); code != 0)
        throw std::runtime_error(where.host + ": " + ::gai_strerror(code));
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all{list, &::freeaddrinfo};
    for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
        socket_handle made{::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        if (made && ::connect(made.fd(), each->ai_addr, each->ai_addrlen) == 0) return made;
    }
    throw std::runtime_error("no Redis at " + where.host + ":" + std::to_string(where.port));
}

std::optional<std::string> as_text(const reply& from) {
    if (!from.is_array) return from.text;
    std::string all;
    for (const reply& each : from.elements) all += (all.empty() ? "" : " ") + as_text(each).value_or("(nil)");
    return all;
}

// Throws for a command whose keys it does not know: a key of somebody else could be meant.
raw_redis::words with_prefix(raw_redis::words command, const std::string& prefix) {
    constexpr std::array<std::string_view, 11> key_is_second{"GET",    "SET",  "SETNX", "DEL",     "EXPIRE",   "EXISTS",
                                                             "GETSET", "HGET", "HSET",  "PUBLISH", "SUBSCRIBE"};
    if (prefix.empty() || command[0] == "MULTI" || command[0] == "EXEC") return command;
    if (command[0] == "EVAL") {
        const std::size_t keys = std::stoul(command.at(2));
        for (std::size_t i = 3; i < 3 + keys; ++i) command.at(i).insert(0, prefix);
        return command;
    }
    if (std::ranges::find(key_is_second, command[0]) == key_is_second.end())
        throw std::logic_error("where are the keys of " + command[0] + "?");
    command.at(1).insert(0, prefix);
    return command;
}

}  // namespace

raw_redis::raw_redis(const redis_address& where, listener told)
    : prefix_(where.prefix), server_(connected_to(where)), told_(std::move(told)) {
    if (!where.password.empty() && where.user.empty()) server_.ask({"AUTH", where.password});
    if (!where.password.empty() && !where.user.empty()) server_.ask({"AUTH", where.user, where.password});
    if (where.database != 0) server_.ask({"SELECT", std::to_string(where.database)});
}

std::optional<std::string> raw_redis::operator()(const words& command) {
    std::optional<std::string> answer = as_text(server_.ask(with_prefix(command, prefix_)));
    if (told_) told_(command, answer);
    return answer;
}

void raw_redis::send(const words& command) {
    server_.send(with_prefix(command, prefix_));
}

// "message", the channel and what was published there.
std::string raw_redis::next_message() {
    return server_.read().elements.at(2).text.value_or("");
}

}  // namespace lab
