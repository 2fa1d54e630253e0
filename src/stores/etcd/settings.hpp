// What an address says about the members and how to speak to them.
#pragma once

#include "base/url.hpp"
#include "net/endpoint.hpp"
#include "net/tls.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// etcd://[user:password@]host[:port],...      the members of a cluster, or some of them
// etcds://...                                 the same over TLS
//
// Options: prefix=NAME (of all keys; mortise; not with protocol=concurrency), timeout=DURATION (of a request that is not
// answered; 2s), ca=FILE, cert=FILE, key=FILE, server_name=NAME, password_file=FILE, protocol=concurrency.
struct settings {
    // How a lock lies in the keys: in our own way, or as Go's clientv3/concurrency and `etcdctl lock` keep a mutex.
    enum class layout { native, concurrency };

    std::vector<std::string> endpoints;  // "host:port", in the order given
    std::string user;
    std::string password;
    std::string prefix = "mortise";
    std::chrono::nanoseconds timeout = std::chrono::seconds{2};
    layout protocol = layout::native;

    net::tls_settings tls{};

    net::endpoint endpoint_of(std::size_t member) const;
    std::string shown() const;        // "etcd://a:2379,b:2379", for errors
    std::string needed_keys() const;  // "the keys of the prefix mortise": what a user has to have rights to

    static settings of(const base::url& address);  // throws errc::bad_url, which never shows a secret
};

}  // namespace mortise::inline v0::stores::etcd
