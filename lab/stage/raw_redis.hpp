// A plain connection to Redis, as the documents' code has one.
#pragma once

#include "lab/stage/redis_address.hpp"
#include "stores/redis/servers/conversation.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lab {

// One command at a time; it blocks. Nothing of ours is between the caller and the server, but for the prefix of keys, if there is one.
class raw_redis {
public:
    using words = std::vector<std::string>;

    // Told of every command and its answer.
    using listener = std::function<void(const words& command, const std::optional<std::string>& answer)>;

    explicit raw_redis(const redis_address& where, listener told = {});

    // The answer as text: numbers in digits, lists with a blank between their elements. Nothing: nil. Throws if the server
    // answers with an error, or not at all.
    std::optional<std::string> operator()(const words& command);

    void send(const words& command);  // and does not wait for its answer; nobody is told
    std::string next_message();       // of a channel that it listens to: blocks until there is one

    // As it is, without the prefix, and nobody is told.
    mortise::stores::redis::servers::reply ask(const words& command) { return server_.ask(command); }

private:
    const std::string prefix_;
    mortise::stores::redis::servers::conversation server_;
    const listener told_;
};

}  // namespace lab
