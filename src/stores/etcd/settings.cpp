#include "stores/etcd/settings.hpp"

#include "base/address_options.hpp"
#include "base/text.hpp"
#include "net/tls_options.hpp"

#include <cstdint>

namespace mortise::inline v0::stores::etcd {
namespace {

constexpr std::uint16_t usual_port = 2379;

}  // namespace

net::endpoint settings::endpoint_of(std::size_t member) const {
    return net::endpoint::in(endpoints[member], usual_port).value();  // checked by base::url
}

std::string settings::shown() const {
    std::string all;
    for (const std::string& one : endpoints) all += (all.empty() ? "" : ",") + one;
    return (tls.on ? "etcds://" : "etcd://") + all;
}

std::string settings::needed_keys() const {
    if (protocol == layout::native) return "the keys of the prefix " + prefix;
    return "the keys of the lock, which begin with its name and a slash, and those of the prefix " + prefix;
}

settings settings::of(const base::url& address) {
    settings s;
    s.tls.on = address.scheme == "etcds";
    s.tls.protocol = "h2";
    s.tls.if_plain = "write etcd:// instead of etcds://, or give its TLS port";
    s.tls.if_old = "see --tls-min-version of etcd";
    s.tls.if_silent = "write etcd://";
    s.tls.if_needed = "write etcds://";
    if (address.hosts.empty())
        base::bad_address(address, "a host is missing; write " + address.scheme + "://127.0.0.1");
    for (const std::string& host : address.hosts)
        s.endpoints.push_back(net::endpoint::in(host, usual_port).value().shown());
    if (!address.path.empty() && address.path != "/")
        base::bad_address(address, "a path means nothing here; keys of one's own are the option prefix");
    s.user = address.user;
    s.password = address.password;

    base::address_options options{
        {"prefix",
         [&](const std::string& v) {
             if (v.empty() || v.size() > 100 || v.find_first_of("% \r\n") != std::string::npos || v.ends_with('/'))
                 base::bad_address(
                     address, "prefix must be 1 to 100 bytes without percent signs, spaces and a slash at its end");
             s.prefix = v;
         }},
        {"timeout", [&](const std::string& v) { s.timeout = base::duration_in(address, "timeout", v); }},
        {"protocol",
         [&](const std::string& v) {
             if (v != "concurrency" && v != "native")
                 base::bad_address(address, "protocol must be native or concurrency");
             if (v == "concurrency") s.protocol = layout::concurrency;
         }},
        {"password_file", [&](const std::string& v) { s.password = base::password_in(address, v); }},
    };
    net::know_tls(options, s.tls);
    base::read_options(address, options);
    if (s.protocol == layout::concurrency && address.query.contains("prefix"))
        base::bad_address(address,
                          "prefix means nothing with protocol=concurrency: names are keys there; begin them with it");
    if (s.user.empty() != s.password.empty())
        base::bad_address(address,
                          "a user needs a password and a password a user: etcd://user:password@host, or password_file");
    net::load_tls(address, s.tls);
    return s;
}

}  // namespace mortise::inline v0::stores::etcd
