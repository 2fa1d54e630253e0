// Another program that listens to channels of a server.
#pragma once

#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <mortise/config.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

namespace mortise::inline v0::stores::redis::servers {

class subscriber {
public:
    // "SUBSCRIBE CHANNEL" or another one; it is in force when this returns.
    subscriber(std::uint16_t port, const std::string& command) {
        const sockaddr_in at = testing::loopback(port);
        if (::connect(socket_.fd(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
            throw std::runtime_error("nobody to listen to");
        const std::string line = command + "\r\n";
        static_cast<void>(!::send(socket_.fd(), line.data(), line.size(), MSG_NOSIGNAL));
        listens_ = std::jthread{[this](const std::stop_token& stop) { listen(stop); }};
        if (!testing::eventually([this] { return all_words().size() >= 3; }))
            throw std::runtime_error("not subscribed");
    }

    // "channel message" of each message so far.
    std::vector<std::string> heard() const {
        const auto words = all_words();
        std::vector<std::string> all;
        for (std::size_t i = 0; i + 2 < words.size(); ++i) {
            if (words[i] == "pmessage" && i + 3 < words.size()) all.push_back(words[i + 2] + " " + words[i + 3]);
            if (words[i] == "message" || words[i] == "smessage") all.push_back(words[i + 1] + " " + words[i + 2]);
        }
        return all;
    }
    [[nodiscard]] bool await(const std::string& message) const {
        return testing::eventually([&] {
            const auto all = heard();
            return std::find(all.begin(), all.end(), message) != all.end();
        });
    }

private:
    // Bulk strings, and numbers.
    std::vector<std::string> all_words() const {
        std::scoped_lock guard{mutex_};
        std::vector<std::string> words;
        for (std::size_t at = 0, end = 0; (end = bytes_.find("\r\n", at)) != std::string::npos; at = end + 2)
            if (bytes_[at] != '*' && bytes_[at] != '$') words.push_back(bytes_.substr(at, end - at));
        return words;
    }
    void listen(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            pollfd look{socket_.fd(), POLLIN, 0};
            if (::poll(&look, 1, 20) <= 0) continue;
            char some[4096];
            const auto n = ::recv(socket_.fd(), some, sizeof some, 0);
            if (n <= 0) return;
            std::scoped_lock guard{mutex_};
            bytes_.append(some, static_cast<std::size_t>(n));
        }
    }

    const testing::socket_handle socket_ = testing::tcp_socket();
    mutable std::mutex mutex_;
    std::string bytes_;
    std::jthread listens_;
};

}  // namespace mortise::inline v0::stores::redis::servers
