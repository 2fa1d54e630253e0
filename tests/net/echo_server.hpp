// A server that answers each line with the same line, and can be told to misbehave.
#pragma once

#include "support/loopback.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>

namespace mortise::testing {

// One thread for all guests. A verb takes effect soon after it returns; all are for any thread.
class echo_server {
public:
    echo_server() {
        do {
            port_ = free_port();
            door_ = listener_at(port_);
        } while (!door_);
        serving_ = std::jthread{[this](const std::stop_token& stop) { serve(stop); }};
    }

    std::uint16_t port() const { return port_; }

    void hold() {
        set([this] { answers_ = 0; });
    }  // reads on, and answers nothing
    void answer(std::size_t lines) {
        set([&] { answers_ = lines; });
    }
    void go_on() {
        set([this] { answers_ = unlimited; });
    }

    void be_deaf(bool whether) {
        set([&] { deaf_ = whether; });
    }  // does not even read
    void push(std::string line) {
        set([&] {
            for (guest& one : guests_) one.out += line + "\n";
        });
    }
    void cut() {
        set([this] { guests_.clear(); });
    }
    void cut_within_an_answer() {
        set([this] { rest_ = 3; });
    }  // after three bytes of what it says next, once
    void refuse() {
        set([this] { door_.close(); });
    }
    void accept() {
        set([this] {
            while (!door_) door_ = listener_at(port_);
        });
    }

    std::size_t visits() { return get(visits_); }
    std::size_t heard() { return get(heard_); }  // lines

private:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    struct guest {
        socket_handle line;
        std::string in{};
        std::deque<std::string> asked{};
        std::string out{};
        bool gone = false;
    };

    template <class Change>
    void set(Change change) {
        std::scoped_lock guard{mutex_};
        change();
    }
    std::size_t get(const std::size_t& what) {
        std::scoped_lock guard{mutex_};
        return what;
    }

    void serve(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            ::poll(nullptr, 0, 1);
            std::scoped_lock guard{mutex_};
            if (door_) welcome();
            for (guest& one : guests_) {
                if (!deaf_) listen_to(one);
                answer(one);
                speak_to(one);
            }
            std::erase_if(guests_, [](const guest& one) { return one.gone; });
        }
    }
    void welcome() {
        pollfd look{door_.fd(), POLLIN, 0};
        if (::poll(&look, 1, 0) <= 0) return;
        socket_handle made{::accept4(door_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)};
        if (!made) return;
        ++visits_;
        guests_.push_back({.line = std::move(made)});
    }
    void listen_to(guest& one) {
        std::vector<char> room(65536);
        ssize_t n = 0;
        while ((n = ::recv(one.line.fd(), room.data(), room.size(), 0)) > 0)
            one.in.append(room.data(), static_cast<std::size_t>(n));
        if (n == 0) one.gone = true;
        for (std::size_t end = 0; (end = one.in.find('\n')) != std::string::npos; ++heard_) {
            one.asked.push_back(one.in.substr(0, end + 1));
            one.in.erase(0, end + 1);
        }
    }
    void answer(guest& one) {
        for (; answers_ > 0 && !one.asked.empty(); one.asked.pop_front()) {
            one.out += one.asked.front();
            if (answers_ != unlimited) --answers_;
        }
    }
    void speak_to(guest& one) {
        if (one.out.empty()) return;
        if (rest_) {
            one.out.resize(std::min(one.out.size(), *std::exchange(rest_, std::nullopt)));
            one.gone = true;
        }
        const ssize_t n = ::send(one.line.fd(), one.out.data(), one.out.size(), MSG_NOSIGNAL);
        if (n > 0) one.out.erase(0, static_cast<std::size_t>(n));
    }

    std::mutex mutex_;
    std::uint16_t port_ = 0;
    socket_handle door_;
    std::vector<guest> guests_;
    std::size_t answers_ = unlimited;  // that it may still give
    bool deaf_ = false;
    std::optional<std::size_t> rest_;
    std::size_t visits_ = 0;
    std::size_t heard_ = 0;
    std::jthread serving_;
};

}  // namespace mortise::testing
