// What a server says about itself: the commands of four letters. "srvr" is allowed unless somebody took it away.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// Blocks. Empty: no answer.
std::string four_letters(const std::string& server, std::string_view word,
                         std::chrono::milliseconds patience = std::chrono::seconds{1});

// Whether a server takes connections. One that has as many of this machine as its maxClientCnxns allows closes further ones
// without a word.
enum class door { open, turns_away, nobody };

// Blocks. Open also if it cannot be told.
door door_of(const std::string& server, std::chrono::milliseconds patience = std::chrono::seconds{1});

// "host:port,host:port" apart.
std::vector<std::string> each_server(const std::string& servers);

// An answer to "srvr".
struct server_facts {
    std::string version{};  // "3.8.0"; empty: it did not answer, or not so
    std::string mode{};     // "leader", "follower", "observer", "standalone", "read-only"; empty: it serves nobody
    std::uint64_t received = 0;
    std::uint64_t zxid = 0;
    bool turns_away = false;
};
server_facts read_facts(std::string_view said);

}  // namespace mortise::inline v0::stores::zookeeper
