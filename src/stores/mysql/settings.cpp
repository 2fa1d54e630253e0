#include "stores/mysql/settings.hpp"

#include "base/address_options.hpp"
#include "base/text.hpp"
#include "net/tls_options.hpp"

#include <cstdint>

namespace mortise::inline v0::stores::mysql {
namespace {

constexpr std::uint16_t usual_port = 3306;
constexpr std::size_t longest_identifier = 64;  // of both servers

unsigned count_in(const base::url& address, const std::string& option, const std::string& text, unsigned least,
                  unsigned most) {
    const auto count = base::number_in<unsigned>(text, least, most);
    if (!count)
        base::bad_address(address,
                          option + " must be a number from " + std::to_string(least) + " to " + std::to_string(most));
    return *count;
}

// Statements name our tables without it, so that no name has to be quoted; but it appears in messages.
std::string database_in(const base::url& address) {
    const std::string name = address.path.empty() ? "" : address.path.substr(1);
    if (name.empty()) base::bad_address(address, "a database is missing; write mysql://user@host/database");
    if (name.size() > longest_identifier || !base::valid_utf8(name) || base::has_control(name) ||
        name.find('/') != std::string::npos)
        base::bad_address(address, "the path must be the name of a database");
    return name;
}

strategy strategy_in(const base::url& address, const std::string& text) {
    if (text == "row") return strategy::row;
    if (text == "for_update") return strategy::for_update;
    if (text == "get_lock") return strategy::get_lock;
    base::bad_address(address, "strategy must be row, for_update or get_lock");
}

}  // namespace

std::string settings::shown() const {
    std::string all;
    for (const net::endpoint& one : servers) all += (all.empty() ? "" : ",") + one.shown();
    return "mysql://" + all + "/" + database;
}

settings settings::of(const base::url& address) {
    settings s;
    s.tls.if_plain = "leave out tls=on, or have the server set up for TLS (ssl_cert, ssl_key)";
    s.tls.if_old = "see tls_version of the server";
    s.tls.if_silent = "leave out tls=on";
    s.tls.if_needed = "add tls=on";
    if (address.hosts.empty()) base::bad_address(address, "a host is missing; write mysql://user@127.0.0.1/database");
    for (const std::string& host : address.hosts)
        s.servers.push_back(net::endpoint::in(host, usual_port).value());  // checked by base::url
    s.user = address.user;
    s.password = address.password;
    s.database = database_in(address);
    if (s.user.empty()) base::bad_address(address, "a user is missing; write mysql://user@host/database");

    base::address_options options{
        {"strategy", [&](const std::string& v) { s.by = strategy_in(address, v); }},
        {"timeout", [&](const std::string& v) { s.timeout = base::duration_in(address, "timeout", v); }},
        {"session",
         [&](const std::string& v) {
             s.session = base::duration_in(address, "session", v, std::chrono::seconds{2});
             if (s.session % std::chrono::seconds{1} != std::chrono::milliseconds{0})
                 base::bad_address(address, "session must be a number of whole seconds, like 30s");
         }},
        {"connections", [&](const std::string& v) { s.connections = count_in(address, "connections", v, 1, 10'000); }},
        {"wait_connections",
         [&](const std::string& v) { s.wait_connections = count_in(address, "wait_connections", v, 0, 1); }},
        {"password_file", [&](const std::string& v) { s.password = base::password_in(address, v); }},
        {"tls",
         [&](const std::string& v) {
             if (v != "on" && v != "off") base::bad_address(address, "tls must be on or off");
             s.tls.on = v == "on";
         }},
    };
    net::know_tls(options, s.tls);
    base::read_options(address, options);
    for (const char* option : {"session", "connections"})
        if (!s.bound() && address.query.contains(option))
            base::bad_address(address, std::string(option) + " is for strategy=for_update and strategy=get_lock");
    if (s.bound() && address.query.contains("wait_connections"))
        base::bad_address(address, "wait_connections is for strategy=row");
    net::load_tls(address, s.tls);
    return s;
}

}  // namespace mortise::inline v0::stores::mysql
