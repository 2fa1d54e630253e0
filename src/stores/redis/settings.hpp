// The settings in an address.
#pragma once

#include "base/url.hpp"
#include "net/endpoint.hpp"
#include "net/tls.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis {

using net::endpoint;

// redis://[user:password@]host[:port][/database]              one server
// rediss://...                                                the same over TLS
// redis+sentinel://[user:password@]host[:port],.../master     the master that sentinels name
// redis+cluster://[user:password@]host[:port],...             a cluster, found from any of its nodes
//
// Options: prefix=NAME (of all keys and channels; mortise), timeout=DURATION (of a connection that does not answer; 2s),
// tls=1 (for sentinel and cluster), ca=FILE, cert=FILE, key=FILE, server_name=NAME, password_file=FILE,
// sentinel_user=, sentinel_password_file=, wait=REPLICAS, wait_timeout=DURATION, protocol=setnx or redisson (instead of our
// own), key_prefix=TEXT with these (of all keys; none), fair=1 with redisson, and fair_wait=DURATION (300s).
struct settings {
    enum class topology { single, sentinel, cluster };
    enum class layout { native, setnx, redisson };

    topology shape = topology::single;
    std::vector<endpoint> endpoints;  // in the order given
    std::string master;               // for sentinels
    std::string user;
    std::string password;
    std::string sentinel_user;
    std::string sentinel_password;
    int database = 0;
    layout protocol = layout::native;
    std::string prefix = "mortise";
    std::string key_prefix;  // of the protocols of others
    bool fair = false;       // redisson
    std::chrono::nanoseconds fair_wait = std::chrono::minutes{5};
    std::chrono::nanoseconds timeout = std::chrono::seconds{2};

    net::tls_settings tls;

    bool strict = false;    // client_options::strict
    unsigned replicas = 0;  // that have to acknowledge
    std::chrono::nanoseconds replica_timeout = std::chrono::seconds{1};

    static settings of(const base::url& address);  // throws errc::bad_url, which never shows a secret
};

}  // namespace mortise::inline v0::stores::redis
