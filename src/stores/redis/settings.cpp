#include "stores/redis/settings.hpp"

#include "base/address_options.hpp"
#include "base/text.hpp"
#include "net/tls_options.hpp"

namespace mortise::inline v0::stores::redis {
namespace {

constexpr std::uint16_t usual_port = 6379;
constexpr std::uint16_t usual_sentinel_port = 26379;

}  // namespace

settings settings::of(const base::url& address) {
    settings s;
    s.tls.on = address.scheme == "rediss";
    s.tls.if_plain = "write redis:// instead of rediss:// (or leave out tls=1), or give its TLS port";
    s.tls.if_old = "see tls-protocols in its redis.conf";
    s.tls.if_silent = "write redis://";
    s.tls.if_needed = "write rediss:// or tls=1";
    if (address.scheme == "redis+sentinel") s.shape = topology::sentinel;
    if (address.scheme == "redis+cluster") s.shape = topology::cluster;
    if (address.hosts.empty())
        base::bad_address(address, "a host is missing; write " + address.scheme + "://127.0.0.1");
    if (s.shape == topology::single && address.hosts.size() > 1)
        base::bad_address(address, "redis:// takes one host; several are redis+sentinel://... or redis+cluster://...");
    for (const std::string& host : address.hosts)
        s.endpoints.push_back(endpoint::in(host, s.shape == topology::sentinel ? usual_sentinel_port : usual_port)
                                  .value());  // by base::url
    s.user = address.user;
    s.password = address.password;

    std::string_view path = address.path;
    if (path.starts_with('/')) path.remove_prefix(1);
    if (s.shape == topology::sentinel) {
        if (path.empty())
            base::bad_address(address, "the master's name is missing; write redis+sentinel://host,host,host/NAME");
        s.master = path;
    } else if (!path.empty()) {
        const auto database = base::number_in<int>(path, 0, 1'000'000);
        if (!database || (s.shape == topology::cluster && *database != 0))
            base::bad_address(address, s.shape == topology::cluster ? "a cluster has no databases; leave out the path"
                                                                    : "the path must be a database's number, like /0");
        s.database = *database;
    }

    base::address_options options{
        {"prefix",
         [&](const std::string& v) {
             if (v.empty() || v.size() > 100 || v.find_first_of("{} \r\n") != std::string::npos)
                 base::bad_address(address, "prefix must be 1 to 100 bytes without braces and spaces");
             s.prefix = v;
         }},
        {"protocol",
         [&](const std::string& v) {
             if (v != "native" && v != "setnx" && v != "redisson")
                 base::bad_address(address, "protocol must be native, setnx or redisson");
             if (v == "setnx") s.protocol = layout::setnx;
             if (v == "redisson") s.protocol = layout::redisson;
         }},
        {"fair",
         [&](const std::string& v) {
             if (v != "1" && v != "0") base::bad_address(address, "fair must be 0 or 1");
             s.fair = v == "1";
         }},
        {"fair_wait", [&](const std::string& v) { s.fair_wait = base::duration_in(address, "fair_wait", v); }},
        {"key_prefix",
         [&](const std::string& v) {
             if (v.size() > 100) base::bad_address(address, "key_prefix must have at most 100 bytes");
             s.key_prefix = v;
         }},
        {"timeout", [&](const std::string& v) { s.timeout = base::duration_in(address, "timeout", v); }},
        {"tls",
         [&](const std::string& v) {
             if (v != "1" && v != "0") base::bad_address(address, "tls must be 0 or 1");
             if (v == "0" && s.tls.on) base::bad_address(address, "rediss:// is TLS; write redis:// for none");
             s.tls.on = v == "1";
         }},
        {"password_file", [&](const std::string& v) { s.password = base::password_in(address, v); }},
        {"sentinel_user", [&](const std::string& v) { s.sentinel_user = v; }},
        {"sentinel_password_file",
         [&](const std::string& v) { s.sentinel_password = base::secret_in(address, "sentinel_password_file", v); }},
        {"wait",
         [&](const std::string& v) {
             const auto given = base::number_in<unsigned>(v, 0, 100);
             if (!given) base::bad_address(address, "wait must be a number of replicas, 0 to 100");
             s.replicas = *given;
         }},
        {"wait_timeout",
         [&](const std::string& v) { s.replica_timeout = base::duration_in(address, "wait_timeout", v); }},
    };
    net::know_tls(options, s.tls);
    base::read_options(address, options);
    if (s.protocol != layout::native && address.query.contains("prefix"))
        base::bad_address(address, "prefix is for our own protocol; keys of other protocols begin with key_prefix");
    if (s.protocol == layout::native && address.query.contains("key_prefix"))
        base::bad_address(address, "key_prefix is for protocol=setnx and redisson; our own keys begin with prefix");
    if (s.protocol != layout::redisson && (address.query.contains("fair") || address.query.contains("fair_wait")))
        base::bad_address(address, "fair and fair_wait are for protocol=redisson");
    if (!s.user.empty() && s.password.empty())
        base::bad_address(address, "a user needs a password: redis://user:password@host, or the option password_file");
    if (s.shape != topology::sentinel && !(s.sentinel_user + s.sentinel_password).empty())
        base::bad_address(address, "sentinel_user and sentinel_password_file are for redis+sentinel://");
    net::load_tls(address, s.tls);
    return s;
}

}  // namespace mortise::inline v0::stores::redis
