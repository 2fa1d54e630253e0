// A server that is no Redis, or not the one that was hoped for.
#pragma once

#include "support/loopback.hpp"

#include <mortise/config.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>

namespace mortise::inline v0::stores::redis::servers {

// Answers whatever it is sent first with these bytes, and is silent from then on.
class scripted {
public:
    explicit scripted(std::string answer, bool closes = false) : answer_(std::move(answer)), closes_(closes) {
        do {
            port_ = testing::free_port();
            door_ = testing::listener_at(port_);
        } while (!door_);
        serving_ = std::jthread{[this](const std::stop_token& stop) { serve(stop); }};
    }

    std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    int visits() const { return visits_; }

private:
    void serve(const std::stop_token& stop) {
        std::vector<testing::socket_handle> guests;
        while (!stop.stop_requested()) {
            pollfd look{door_.fd(), POLLIN, 0};
            if (::poll(&look, 1, 20) <= 0) continue;
            testing::socket_handle guest{::accept(door_.fd(), nullptr, nullptr)};
            if (!guest) continue;
            ++visits_;
            char bytes[4096];
            pollfd said{guest.fd(), POLLIN, 0};
            if (::poll(&said, 1, 1000) > 0) static_cast<void>(!::recv(guest.fd(), bytes, sizeof bytes, 0));
            static_cast<void>(!::send(guest.fd(), answer_.data(), answer_.size(), MSG_NOSIGNAL));
            if (!closes_) guests.push_back(std::move(guest));
        }
    }

    const std::string answer_;
    const bool closes_;
    std::uint16_t port_ = 0;
    testing::socket_handle door_;
    std::atomic<int> visits_{0};
    std::jthread serving_;
};

}  // namespace mortise::inline v0::stores::redis::servers
