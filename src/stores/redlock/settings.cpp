#include "stores/redlock/settings.hpp"

#include "base/address_options.hpp"
#include "base/host_port.hpp"
#include "base/percent.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace mortise::inline v0::stores::redlock {
namespace {

constexpr std::size_t fewest = 3;
constexpr std::string_view usual_port = ":6379";

std::string escaped(std::string_view text) {
    std::string all;
    base::append_percent_encoded(all, text, [](char c) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        return !plain && std::string_view{"-._~/"}.find(c) == std::string_view::npos;
    });
    return all;
}

// Names of hosts are the same in either case.
bool same_host(std::string_view one, std::string_view other) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [&](char a, char b) { return lower(a) == lower(b); });
}

// Tokens need our own protocol: a key of SET NX has no room for them.
void expect_prefix(const base::url& address, bool fenced) {
    if (fenced && address.query.contains("key_prefix"))
        base::bad_address(address,
                          "with fenced=true the nodes keep locks in our own protocol, whose keys begin with prefix");
    if (!fenced && address.query.contains("prefix"))
        base::bad_address(address, "prefix is for fenced=true; keys of SET NX begin with key_prefix");
}

}  // namespace

settings settings::of(const base::url& address) {
    settings s;
    s.quorum.store = "redlock";
    std::string login;
    if (!address.user.empty() || !address.password.empty())
        login = escaped(address.user) + ":" + escaped(address.password) + "@";

    std::string more;
    base::address_options options{
        {"node_timeout",
         [&](const std::string& v) { s.quorum.node_timeout = base::duration_in(address, "node_timeout", v); }},
        {"min_validity",
         [&](const std::string& v) { s.quorum.min_validity = base::duration_in(address, "min_validity", v); }},
        {"settle",
         [&](const std::string& v) {
             s.quorum.settle =
                 base::duration_in(address, "settle", v, std::chrono::milliseconds{1}, std::chrono::hours{24});
         }},
        {"fenced",
         [&](const std::string& v) {
             if (v != "true" && v != "false") base::bad_address(address, "fenced must be true or false");
             s.quorum.fenced = v == "true";
         }},
    };
    for (const char* of_nodes :
         {"prefix", "key_prefix", "timeout", "tls", "ca", "cert", "key", "server_name", "password_file"})
        options[of_nodes] = [&more, of_nodes](const std::string& v) {
            more += "&" + std::string(of_nodes) + "=" + escaped(v);
        };
    base::read_options(address, options);
    expect_prefix(address, s.quorum.fenced);
    const std::string protocol = s.quorum.fenced ? "protocol=native" : "protocol=setnx";

    for (const std::string& host : address.hosts) {
        const auto parts = base::host_port::split(host).value();  // by base::url
        const std::string shown = host + (parts.port ? "" : std::string(usual_port));
        if (std::any_of(s.nodes.begin(), s.nodes.end(), [&](const node& one) { return same_host(one.host, shown); }))
            base::bad_address(address, shown + " is given twice, and would vote twice");
        s.nodes.push_back({shown, "redis://" + login + host + escaped(address.path) + "?" + protocol + more});
    }
    if (s.nodes.size() < fewest)
        base::bad_address(address,
                          "redlock:// needs three hosts or more: of fewer none may fail; for one write "
                          "redis://HOST?protocol=setnx");
    return s;
}

}  // namespace mortise::inline v0::stores::redlock
