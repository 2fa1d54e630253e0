// A plain conversation with Redis, for tests and for the lab.
#pragma once

#include "support/loopback.hpp"

#include <mortise/config.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis::servers {

struct reply {
    std::optional<std::string> text{};  // of what is no array; nothing: nil
    std::vector<reply> elements{};
    bool is_array = false;
};

// One command at a time; it blocks for as long as the socket does.
class conversation {
public:
    explicit conversation(testing::socket_handle connected) : socket_(std::move(connected)) {}

    // Throws what the server says if that is an error, and if it does not answer.
    reply ask(const std::vector<std::string>& words);

    // The two halves of it: a command whose answer nobody awaits; what the server says of itself, to a subscriber.
    void send(const std::vector<std::string>& words);
    reply read();

private:
    void need(std::size_t size);
    std::string take(std::size_t size);
    std::string take_line();

    testing::socket_handle socket_;
    std::string unread_{};
};

}  // namespace mortise::inline v0::stores::redis::servers
