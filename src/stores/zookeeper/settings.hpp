// What an address says about the servers and how to speak to them.
#pragma once

#include "base/url.hpp"
#include "stores/zookeeper/names.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <string>

namespace mortise::inline v0::stores::zookeeper {

// zookeeper://[user:password@]host[:port],...[/path]
//
// The path is the node under which all locks lie (/mortise). With a user, nodes are readable and writable by that user alone
// (digest authentication).
//
// Options: session=DURATION (how long the servers keep the locks of a client that is silent; 30s), password_file=FILE,
// protocol=curator (locks as Apache Curator keeps them, under the path itself or the root of all nodes).
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
