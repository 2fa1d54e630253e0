// Where a Redis is, and which of its keys are the lab's.
#pragma once

#include <cstdint>
#include <string>

namespace lab {

struct redis_address {
    std::string host{};
    std::uint16_t port = 6379;
    std::string user{};
    std::string password{};
    int database = 0;
    std::string prefix{};  // of all keys; empty: the whole server is the lab's

    // For locks of ours.
    std::string url() const {
        const std::string who = password.empty() ? "" : user + ":" + password + "@";
        return "redis://" + who + host + ":" + std::to_string(port) + "/" + std::to_string(database) +
               (prefix.empty() ? "" : "?prefix=" + prefix.substr(0, prefix.size() - 1));
    }
};

}  // namespace lab
