// What an address says about the servers and how to speak to them.
#pragma once

#include "base/url.hpp"
#include "net/endpoint.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::postgres {

// postgres://[user[:password]@]host[:port],...[/database]     postgresql:// is the same
// postgres:[database]                                         the server that PGHOST and PGPORT name
//
// Of several hosts the one that accepts changes is used. What the address leaves out is taken from PGUSER, PGDATABASE,
// PGPASSWORD and the password file of libpq, as other clients of PostgreSQL take it.
//
// Options: strategy=row|advisory, schema=NAME (of our tables; mortise), timeout=DURATION (of connecting and of an answer; 2s),
// session=DURATION (advisory: how long the server keeps a session that is silent; 30s), wait_connections=N (advisory: on which
// claims wait in the server; 4), pooler=session (a pooler is in between that keeps a session together), tls=on|off, ca=FILE,
// cert=FILE, key=FILE, server_name=NAME, password_file=FILE.
struct settings {
    enum class strategy { row, advisory };
    enum class encryption {
        preferred,  // if the server offers it, and not verified
        off,
        verified,  // the chain, and the server's name
    };

    std::vector<net::endpoint> servers;
    std::string user;
    std::string password;  // empty: libpq looks for one
    std::string database;
    std::string schema = "mortise";
    strategy kind = strategy::row;
    std::chrono::nanoseconds timeout = std::chrono::seconds{2};
    std::chrono::milliseconds session = std::chrono::seconds{30};
    std::size_t wait_connections = 4;
    bool pooled_sessions = false;

    encryption tls = encryption::preferred;
    std::string ca;
    std::string certificate;
    std::string key;
    std::string server_name;

    std::string shown() const;  // "postgres://a:5432,b:5432/shop", for errors

    static settings of(const base::url& address);  // throws errc::bad_url, which never shows a secret
};

}  // namespace mortise::inline v0::stores::postgres
