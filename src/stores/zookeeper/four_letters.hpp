// What a server says about itself: the four letter words. "srvr" is allowed by default.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// Blocks. Empty: no reply.
std::string four_letters(const std::string& server, std::string_view word,
                         std::chrono::milliseconds timeout = std::chrono::seconds{1});

// Whether a server accepts connections. One that has as many of this machine as its maxClientCnxns allows closes further ones
// without a reply.
enum class connect_result { accepted, closed_at_once, refused };

// Blocks. `accepted` also if it cannot be told.
connect_result try_connecting(const std::string& server, std::chrono::milliseconds timeout = std::chrono::seconds{1});

// "host:port,host:port", split.
std::vector<std::string> each_server(const std::string& servers);

// A reply to "srvr".
struct server_facts {
    std::string version{};  // "3.8.0"; empty: no reply, or not of this form
    std::string mode{};     // "leader", "follower", "observer", "standalone", "read-only"; empty: it serves nobody
    std::uint64_t received = 0;
    std::uint64_t zxid = 0;
    bool turns_away = false;  // closes connections at once
};
server_facts read_facts(std::string_view reply);

}  // namespace mortise::inline v0::stores::zookeeper
