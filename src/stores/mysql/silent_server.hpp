// A server that takes a connection and does not greet, as MySQL does: what to say to it so that it shows what it is.
//
// Redis and web servers answer PING. PostgreSQL does not, and closes the connection, as a server may that is being restarted. So the
// next attempt at the same address begins with PostgreSQL's own request for TLS, which it answers with a letter. If it does not, the
// one after that is as usual again.
#pragma once

#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <sys/socket.h>

namespace mortise::inline v0::stores::mysql {

// The addresses of which attempts to connect know that they closed the connection after PING, without a word, or are PostgreSQL's. Of
// each by itself: if there are several servers, the next attempt is at another one, and MySQL must not be spoken to before it greets.
// Safe to use from all threads.
class suspects {
public:
    void add(const std::string& address) {
        const std::scoped_lock guard{mutex_};
        addresses_.insert(address);
    }
    bool take(const std::string& address) {
        const std::scoped_lock guard{mutex_};
        return addresses_.erase(address) != 0;
    }

private:
    std::mutex mutex_;
    std::unordered_set<std::string> addresses_;
};

// Of one attempt to connect.
class silent_server {
public:
    explicit silent_server(std::shared_ptr<suspects> past) : past_(std::move(past)) {}

    // `address`: a number and a port.
    void open(std::string address) {
        address_ = std::move(address);
        asks_at_once_ = past_->take(address_);
    }
    // To be asked for TLS as soon as it is connected.
    bool asks_at_once() const { return asks_at_once_; }
    void ask_for_tls(int socket) {
        asks_at_once_ = false;
        asked_for_tls_ = true;
        say(socket, {"\0\0\0\x08\x04\xd2\x16\x2f", 8});
    }
    // It has not greeted in time. False: nothing was said.
    bool ping(int socket) {
        if (pinged_ || asked_for_tls_) return false;
        pinged_ = true;
        return say(socket, "PING\r\n");
    }
    bool was_spoken_to() const { return pinged_ || asked_for_tls_; }

    // Whether what it says then, or that it closes, is of no use to the library.
    bool ends_with(std::string_view says) const { return asked_for_tls_ || (pinged_ && says.empty()); }
    sql::outcome trouble_with(const std::string& where, std::string_view says) const {
        using kind = sql::outcome::kind;
        const bool is_postgres = asked_for_tls_ && (says == "S" || says == "N");
        if (pinged_ || is_postgres) past_->add(address_);
        if (is_postgres)
            return {.is = kind::refused, .detail = where + " is a PostgreSQL server, not MySQL; is the port right?"};
        return {.is = kind::unsent, .detail = where + " takes connections, but does not answer; is the port right?"};
    }

private:
    static bool say(int socket, std::string_view words) {
        return ::send(socket, words.data(), words.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
    }

    const std::shared_ptr<suspects> past_;
    std::string address_;
    bool asks_at_once_ = false;
    bool asked_for_tls_ = false;
    bool pinged_ = false;
};

}  // namespace mortise::inline v0::stores::mysql
