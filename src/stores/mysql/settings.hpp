// What an address says about the servers and the strategy.
#pragma once

#include "base/url.hpp"
#include "net/endpoint.hpp"
#include "net/tls.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::mysql {

enum class strategy { row, for_update, get_lock };

// mysql://user[:password]@host[:port],.../database
//
// Several hosts are tried in turn; all must lead to the same primary. See README.md for the options.
struct settings {
    std::vector<net::endpoint> servers;
    std::string user;
    std::string password;
    std::string database;
    strategy by = strategy::row;
    net::tls_settings tls;
    std::chrono::milliseconds timeout = std::chrono::seconds{2};   // of connecting, and of an answer
    std::chrono::milliseconds session = std::chrono::seconds{30};  // after which the server ends a silent connection
    unsigned connections = 32;                                     // `for_update`, `get_lock`: each claim has one
    unsigned wait_connections = 1;                                 // `row`: on which a client is woken; none: it asks

    bool bound() const noexcept { return by != strategy::row; }  // a hold ends with its connection
    std::string shown() const;                                   // without user and password

    static settings of(const base::url& address);  // throws errc::bad_url, which never shows a secret
};

}  // namespace mortise::inline v0::stores::mysql
