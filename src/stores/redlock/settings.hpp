// The settings in an address.
#pragma once

#include "base/url.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/quorum.hpp>

#include <string>
#include <vector>

namespace mortise::inline v0::stores::redlock {

// redlock://[user:password@]host[:port],host[:port],...[/database]     three or more independent servers
//
// Options: node_timeout=DURATION (500ms), min_validity=DURATION (none), settle=DURATION (none), fenced=true (false), as in
// spi::quorum_options. These go to every node, as options of redis://: key_prefix, or prefix with fenced=true, timeout, tls, ca, cert, key, server_name, password_file.
struct settings {
    struct node {
        std::string host;     // host:port
        std::string address;  // of its store; secret
    };

    std::vector<node> nodes;
    spi::quorum_options quorum;

    static settings of(const base::url& address);  // throws errc::bad_url, which never shows a secret
};

}  // namespace mortise::inline v0::stores::redlock
