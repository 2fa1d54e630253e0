// What an address says about the servers and the protocol.
#pragma once

#include "base/url.hpp"
#include "stores/zookeeper/names.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

// zookeeper://[user:password@]host[:port],...[/path]
//
// The path is the node that all locks are kept under (/mortise). With a user, only that user can read and change the nodes
// (digest authentication).
//
// Options: session=DURATION (session timeout; 30s), password_file=FILE, protocol=curator (the same locks as Apache Curator's,
// under the path itself or the root of all nodes).
struct settings {
    std::string servers;  // "host:port,host:port", as the C client reads it
    std::string root = "/mortise";
    std::string user;
    std::string password;
    naming::protocol protocol = naming::protocol::own;
    std::chrono::milliseconds session = std::chrono::seconds{30};

    static settings of(const base::url& address);  // throws errc::bad_url, which never shows a secret
};

}  // namespace mortise::inline v0::stores::zookeeper
