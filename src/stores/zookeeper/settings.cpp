#include "stores/zookeeper/settings.hpp"

#include "base/address_options.hpp"
#include "base/text.hpp"
#include "net/endpoint.hpp"

#include <mortise/error.hpp>

#include <cstdint>

namespace mortise::inline v0::stores::zookeeper {
namespace {

constexpr std::uint16_t usual_port = 2181;

std::string root_of(const base::url& address) {
    std::string root = address.path;
    while (root.ends_with('/')) root.pop_back();
    if (root.empty()) return settings{}.root;
    if (root.size() > 200 || !base::valid_utf8(root) || base::has_control(root))
        base::bad_address(address, "the path must be at most 200 bytes of UTF-8 without control characters");
    const std::string closed = root + "/";
    for (const char* odd : {"//", "/./", "/../"})
        if (closed.find(odd) != std::string::npos)
            base::bad_address(address,
                              "the path must be that of a node, like /mortise: no empty element, no . and no ..");
    if (closed.starts_with("/zookeeper/"))
        base::bad_address(address, "/zookeeper is reserved for the servers; choose another path");
    return root;
}

}  // namespace

settings settings::of(const base::url& address) {
    settings s;
    if (address.hosts.empty()) base::bad_address(address, "a host is missing; write zookeeper://127.0.0.1");
    for (const std::string& host : address.hosts)
        s.servers +=
            (s.servers.empty() ? "" : ",") + net::endpoint::in(host, usual_port).value().shown();  // by base::url
    s.root = root_of(address);
    s.user = address.user;
    s.password = address.password;

    const base::address_options options{
        {"session",
         [&](const std::string& v) { s.session = base::duration_in(address, "session", v, std::chrono::seconds{1}); }},
        {"password_file", [&](const std::string& v) { s.password = base::password_in(address, v); }},
        {"protocol",
         [&](const std::string& v) {
             if (v != "curator") base::bad_address(address, "protocol must be curator; leave it out for our own");
             s.protocol = naming::protocol::curator;
             if (address.path.empty() || address.path == "/") s.root.clear();
         }},
    };
    base::read_options(address, options);
    if (s.user.empty() != s.password.empty())
        base::bad_address(address,
                          "user and password go together: zookeeper://user:password@host, or the option password_file");
    if (s.user.find(':') != std::string::npos) base::bad_address(address, "the user must not contain a colon");
    return s;
}

}  // namespace mortise::inline v0::stores::zookeeper
