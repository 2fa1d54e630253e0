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

resp_client::resp_client(const settings& how, std::string_view key) : how_(how) {
    endpoint where = how.endpoints.front();
    if (how.shape == settings::topology::sentinel) {
        connect(where, how.sentinel_user, how.sentinel_password);
        std::string bytes;
        append(bytes, {"SENTINEL", "get-master-addr-by-name", how.master});
        const reply& said = ask(bytes);
        if (said.items.size() != 2) fail("no master is called '" + how.master + "' where the sentinels are asked");
        where = required(endpoint::of(said.items[0].text, said.items[1].text));
    }
    connect(where, how.user, how.password);
    if (how.shape != settings::topology::cluster) return;
    std::string bytes;
    append(bytes, {"HGET", key, "."});
    const std::string moved{ask(bytes).text};
    if (!moved.starts_with("MOVED ")) return;
    const std::size_t colon = moved.rfind(':');
    const std::size_t host = moved.find(' ', 6) + 1;
    const std::string named = moved.substr(host, colon - host);
    connect(required(endpoint::of(named.empty() ? where.host : named, moved.substr(colon + 1))), how.user,
            how.password);
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
    if (how_.tls.on) line_ = net::with_tls(std::move(line_), how_.tls, where.host);
    input_ = {};
    while (true) {
        const net::transport::result said = line_->establish();
        if (said.is == net::transport::outcome::done) break;
        if (said.is == net::transport::outcome::failed || said.is == net::transport::outcome::closed)
            fail(where.shown() + ": " + said.why);
        wait(said.is == net::transport::outcome::wants_read ? POLLIN : POLLOUT, false);
    }
    std::string bytes;
    if (password.empty()) {
        append(bytes, {"HELLO", "3"});
    } else {
        append(bytes, {"HELLO", "3", "AUTH", user.empty() ? "default" : std::string_view{user}, password});
    }
    if (const reply& said = ask(bytes); said.error())
        throw error(errc::denied, where.shown() + ": " + std::string(said.text));
}

void resp_client::wait(short events, bool forever) {
    pollfd source{line_->descriptor(), events, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(how_.timeout).count();
    if (::poll(&source, 1, forever ? -1 : static_cast<int>(limit)) == 0) fail("the server does not answer");
}

const reply& resp_client::ask(std::string_view bytes) {
    send(bytes);
    return answer();
}

void resp_client::send(std::string_view bytes) {
    while (!bytes.empty()) {
        const net::transport::result said = line_->write(bytes);
        if (said.is == net::transport::outcome::done) {
            bytes.remove_prefix(said.bytes);
        } else if (said.is == net::transport::outcome::wants_write || said.is == net::transport::outcome::wants_read) {
            wait(said.is == net::transport::outcome::wants_write ? POLLOUT : POLLIN, false);
        } else {
            fail("the connection broke: " + said.why);
        }
    }
}

const reply& resp_client::next_push() {
    return read(true, true);
}

const reply& resp_client::read(bool push, bool forever) {
    while (true) {
        const reader::outcome how = input_.next(said_);
        if (how == reader::outcome::broken) fail("what the server says is not Redis' protocol");
        if (how == reader::outcome::value) {
            if ((said_.is == reply::kind::push) == push) return said_;
            continue;
        }
        wait(POLLIN, forever);
        const net::transport::result got = line_->read(input_.space());
        if (got.is == net::transport::outcome::done) input_.filled(got.bytes);
        if (got.is == net::transport::outcome::closed || got.is == net::transport::outcome::failed)
            fail("the connection broke: " + got.why);
    }
}

}  // namespace mortise::inline v0::stores::redis
