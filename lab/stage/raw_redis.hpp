// A plain connection to Redis, as the documents' code has one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lab {

// One command at a time; it blocks. Nothing of ours is between the caller and the server.
class raw_redis {
public:
    // Told of every command and its answer.
    using listener =
        std::function<void(const std::vector<std::string>& words, const std::optional<std::string>& answer)>;

    raw_redis(const std::string& host, std::uint16_t port, listener told = {});
    ~raw_redis();
    raw_redis(const raw_redis&) = delete;
    raw_redis& operator=(const raw_redis&) = delete;

    // The answer as text: numbers in digits, lists with a blank between their elements. Nothing: nil. Throws if the server
    // answers with an error, or not at all.
    std::optional<std::string> operator()(const std::vector<std::string>& words);

private:
    std::optional<std::string> read();
    void receive();
    std::string line();
    std::string take(std::size_t size);

    int fd_ = -1;
    std::string unread_;
    listener told_;
};

}  // namespace lab
