#include "stores/postgres/settings.hpp"

#include "base/address_options.hpp"
#include "base/text.hpp"

#include <mortise/error.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

namespace mortise::inline v0::stores::postgres {
namespace {

constexpr std::uint16_t usual_port = 5432;
constexpr std::size_t longest_identifier = 63;  // NAMEDATALEN - 1
constexpr std::size_t most_wait_connections = 100;

std::string from_environment(const char* variable) {
    const char* const found = std::getenv(variable);
    return found != nullptr ? found : "";
}

std::string login_name() {
    std::array<char, 4096> room{};
    passwd entry{};
    passwd* found = nullptr;
    return ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) == 0 && found != nullptr ? entry.pw_name
                                                                                                        : "";
}

std::string database_in(const base::url& address) {
    std::string name = address.path;
    if (!address.hosts.empty() && name.starts_with('/')) name.erase(0, 1);
    if (name.find('/') != std::string::npos)
        base::bad_address(address, "the path is the name of a database, like /shop; a slash in it is written %2F");
    return name;
}

std::vector<net::endpoint> servers_in(const base::url& address) {
    const std::string port = from_environment("PGPORT");
    const auto usual = base::number_in<std::uint16_t>(port, 1, 65535).value_or(usual_port);
    std::vector<net::endpoint> all;
    for (const std::string& host : address.hosts)
        all.push_back(net::endpoint::in(host, usual).value());  // by base::url
    if (!all.empty()) return all;
    const std::string host = from_environment("PGHOST");
    const auto found = net::endpoint::in(host.empty() ? "127.0.0.1" : host, usual);
    if (!found)
        base::bad_address(address, "it names no host, and PGHOST is no host name; write postgres://127.0.0.1/shop");
    all.push_back(*found);
    return all;
}

// The certificates that the system trusts: libpq knows no default but a file in the user's home.
std::string system_authorities() {
    for (const char* file :
         {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"})
        if (::access(file, R_OK) == 0) return file;
    return {};
}

void check_tls(const base::url& address, settings& s) {
    const bool verified = s.tls == settings::encryption::verified;
    for (const char* option : {"ca", "cert", "key", "server_name"})
        if (!verified && address.query.contains(option))
            base::bad_address(address, "ca, cert, key and server_name are for TLS; add tls=on");
    if (!verified) return;
    if (s.certificate.empty() != s.key.empty()) base::bad_address(address, "cert and key go together");
    base::expect_private(address, "key", s.key);
    if (s.ca.empty()) s.ca = system_authorities();
    if (s.ca.empty())
        base::bad_address(address, "tls=on needs ca=FILE: the system has no list of trusted certificates");
    for (const std::string& file : {s.ca, s.certificate, s.key})
        if (!file.empty() && ::access(file.c_str(), R_OK) != 0)
            base::bad_address(address, "cannot read " + base::quoted(file));
}

}  // namespace

std::string settings::shown() const {
    std::string all;
    for (const net::endpoint& one : servers) all += (all.empty() ? "" : ",") + one.shown();
    return "postgres://" + all + "/" + database;
}

settings settings::of(const base::url& address) {
    settings s;
    s.servers = servers_in(address);
    s.user = address.user.empty() ? from_environment("PGUSER") : address.user;
    if (s.user.empty()) s.user = login_name();
    if (s.user.empty()) base::bad_address(address, "a user is missing; write postgres://user@host/database");
    s.password = address.password;
    s.database = database_in(address);
    if (s.database.empty()) s.database = from_environment("PGDATABASE");
    if (s.database.empty()) s.database = s.user;

    const base::address_options options{
        {"strategy",
         [&](const std::string& v) {
             if (v != "row" && v != "advisory") base::bad_address(address, "strategy must be row or advisory");
             if (v == "advisory") s.kind = strategy::advisory;
         }},
        {"schema",
         [&](const std::string& v) {
             if (v.empty() || v.size() > longest_identifier || !base::valid_utf8(v) || base::has_control(v) ||
                 v.starts_with("pg_"))
                 base::bad_address(address, "schema must be 1 to 63 bytes of UTF-8 and not begin with pg_");
             s.schema = v;
         }},
        {"timeout", [&](const std::string& v) { s.timeout = base::duration_in(address, "timeout", v); }},
        {"session",
         [&](const std::string& v) { s.session = base::duration_in(address, "session", v, std::chrono::seconds{1}); }},
        {"wait_connections",
         [&](const std::string& v) {
             const auto count = base::number_in<std::size_t>(v, 0, most_wait_connections);
             if (!count) base::bad_address(address, "wait_connections must be a number from 0 to 100");
             s.wait_connections = *count;
         }},
        {"pooler",
         [&](const std::string& v) {
             if (v != "session")
                 base::bad_address(address, "pooler must be session: locks need a session of their own to the server");
             s.pooled_sessions = true;
         }},
        {"tls",
         [&](const std::string& v) {
             if (v != "on" && v != "off") base::bad_address(address, "tls must be on or off");
             s.tls = v == "on" ? encryption::verified : encryption::off;
         }},
        {"ca", [&](const std::string& v) { s.ca = v; }},
        {"cert", [&](const std::string& v) { s.certificate = v; }},
        {"key", [&](const std::string& v) { s.key = v; }},
        {"server_name", [&](const std::string& v) { s.server_name = v; }},
        {"password_file", [&](const std::string& v) { s.password = base::password_in(address, v); }},
    };
    base::read_options(address, options);
    for (const char* option : {"session", "wait_connections"})
        if (s.kind != strategy::advisory && address.query.contains(option))
            base::bad_address(address, std::string(option) + " is for strategy=advisory");
    check_tls(address, s);
    return s;
}

}  // namespace mortise::inline v0::stores::postgres
