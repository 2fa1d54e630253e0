#include "stores/redis/baseline/resp_client.hpp"

#include "net/resolve.hpp"

#include <mortise/error.hpp>

#include <future>

#include <poll.h>

namespace mortise::inline v0::stores::redis {
namespace {

[[noreturn]] void fail(const std::string& what) {
    throw error(errc::unreachable, what);
}

endpoint required(std::optional<endpoint> where) {
    if (!where) fail("the server names an address that is none");
    return *where;
}

}  // namespace

resp_client::resp_client(const settings& config, std::string_view key) : settings_(config) {
    endpoint where = config.endpoints.front();
    if (config.shape == settings::topology::sentinel) {
        connect(where, config.sentinel_user, config.sentinel_password);
        std::string bytes;
        append(bytes, {"SENTINEL", "get-master-addr-by-name", config.master});
        const reply& answer = ask(bytes);
        if (answer.items.size() != 2) fail("no master is called '" + config.master + "' where the sentinels are asked");
        where = required(endpoint::of(answer.items[0].text, answer.items[1].text));
    }
    connect(where, config.user, config.password);
    if (config.shape != settings::topology::cluster) return;
    std::string bytes;
    append(bytes, {"HGET", key, "."});
    const std::string moved{ask(bytes).text};
    if (!moved.starts_with("MOVED ")) return;
    const std::size_t colon = moved.rfind(':');
    const std::size_t host = moved.find(' ', 6) + 1;
    const std::string named = moved.substr(host, colon - host);
    connect(required(endpoint::of(named.empty() ? where.host : named, moved.substr(colon + 1))), config.user,
            config.password);
}

void resp_client::connect(const endpoint& where, const std::string& user, const std::string& password) {
    std::promise<std::pair<std::vector<net::resolved_address>, std::string>> found;
    resolve(where, [&](auto all, auto why) { found.set_value({std::move(all), std::move(why)}); });
    const auto [addresses, why] = found.get_future().get();
    if (addresses.empty()) fail(where.shown() + ": " + why);
    try {
        line_ = net::connect_to(addresses.front().where, addresses.front().length);
    } catch (const std::system_error& e) {
        fail(where.shown() + ": " + e.what());
    }
    if (settings_.tls.on) line_ = net::with_tls(std::move(line_), settings_.tls, where.host);
    input_ = {};
    while (true) {
        const net::transport::result answer = line_->establish();
        if (answer.is == net::transport::status::done) break;
        if (answer.is == net::transport::status::failed || answer.is == net::transport::status::closed)
            fail(where.shown() + ": " + answer.why);
        wait(answer.is == net::transport::status::wants_read ? POLLIN : POLLOUT, false);
    }
    std::string bytes;
    if (password.empty()) {
        append(bytes, {"HELLO", "3"});
    } else {
        append(bytes, {"HELLO", "3", "AUTH", user.empty() ? "default" : std::string_view{user}, password});
    }
    if (const reply& answer = ask(bytes); answer.error())
        throw error(errc::denied, where.shown() + ": " + std::string(answer.text));
}

void resp_client::wait(short events, bool forever) {
    pollfd source{line_->descriptor(), events, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(settings_.timeout).count();
    if (::poll(&source, 1, forever ? -1 : static_cast<int>(limit)) == 0) fail("the server does not answer");
}

void resp_client::run(const script_call& what) {
    const reply* got = &ask(what.by_digest());
    if (got->error() && got->text.starts_with("NOSCRIPT")) got = &ask(what.by_source());
    if (got->error()) throw error(errc::unreachable, std::string(got->text));
}

const reply& resp_client::ask(std::string_view bytes) {
    send(bytes);
    return answer();
}

void resp_client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const net::transport::result answer = line_->write(bytes);
        if (answer.is == net::transport::status::done) {
            bytes.remove_prefix(answer.bytes);
        } else if (answer.is == net::transport::status::wants_write ||
                   answer.is == net::transport::status::wants_read) {
            wait(answer.is == net::transport::status::wants_write ? POLLOUT : POLLIN, false);
        } else {
            fail("the connection broke: " + answer.why);
        }
    }
}

const reply& resp_client::next_push() {
    return read(true, true);
}

const reply& resp_client::read(bool push, bool forever) {
    while (true) {
        const reader::parse_status parsed = input_.next(reply_);
        if (parsed == reader::parse_status::broken) fail("what the server says is not Redis' protocol");
        if (parsed == reader::parse_status::value) {
            if ((reply_.is == reply::kind::push) == push) return reply_;
            continue;
        }
        wait(POLLIN, forever);
        const net::transport::result got = line_->read(input_.space());
        if (got.is == net::transport::status::done) input_.filled(got.bytes);
        if (got.is == net::transport::status::closed || got.is == net::transport::status::failed)
            fail("the connection broke: " + got.why);
    }
}

}  // namespace mortise::inline v0::stores::redis
