#include "stores/etcd/baseline/grpc_client.hpp"

#include "net/resolve.hpp"
#include "stores/etcd/rpc.hpp"
#include "stores/etcd/rpc_result.hpp"

#include <mortise/error.hpp>

#include <future>
#include <system_error>
#include <utility>

#include <poll.h>

namespace mortise::inline v0::stores::etcd {
namespace {

[[noreturn]] void give_up(const std::string& what) {
    throw error(errc::unreachable, what);
}

std::unique_ptr<net::transport> line_to(const settings& how) {
    const net::endpoint where = how.endpoint_of(0);
    std::promise<std::pair<std::vector<net::resolved_address>, std::string>> found;
    net::resolve(where, [&](auto all, auto why) { found.set_value({std::move(all), std::move(why)}); });
    const auto [addresses, why] = found.get_future().get();
    if (addresses.empty()) give_up(where.shown() + ": " + why);
    try {
        auto made = net::connect_to(addresses.front().where, addresses.front().length);
        return how.tls.on ? net::with_tls(std::move(made), how.tls, where.host) : std::move(made);
    } catch (const std::system_error& e) {
        give_up(where.shown() + ": " + e.what());
    }
}

}  // namespace

grpc_client::grpc_client(const settings& how)
    : settings_(how), line_(line_to(how)), session_(how.endpoint_of(0).shown(), how.tls.on) {
    while (true) {
        const net::transport::result reply = line_->establish();
        if (reply.is == net::transport::status::done) break;
        if (reply.is == net::transport::status::failed || reply.is == net::transport::status::closed)
            give_up(how.endpoints.front() + ": " + reply.why);
        wait_for(reply.is == net::transport::status::wants_read ? POLLIN : POLLOUT, false);
    }
    if (how.user.empty()) return;
    rpc::admission given;
    const std::string who = encoded(rpc::credentials{how.user, how.password});
    if (decode(ask("/etcdserverpb.Auth/Authenticate", who), given)) token_ = given.token;
}

std::string grpc_client::ask(const char* method, const std::string& request) {
    end_.reset();
    answer_.clear();
    asked_ = session_.begin(method, token_, settings_.timeout);
    session_.say(asked_, request, true);
    send();
    while (!end_) read(false);
    const rpc_result reply = rpc_result::of(*end_, settings_.endpoints.front(), settings_);
    if (!reply.ok()) throw error(reply.reason, reply.detail);
    return std::move(answer_);
}

void grpc_client::open(const char* method, const std::string& first) {
    stream_ = session_.begin(method, token_, std::nullopt);
    session_.say(stream_, first, false);
    send();
}

std::string grpc_client::next_message() {
    while (messages_.empty()) {
        if (stream_over_) give_up("the server has ended the stream");
        read(true);
    }
    std::string first = std::move(messages_.front());
    messages_.pop_front();
    return first;
}

void grpc_client::wait_for(short events, bool forever) {
    pollfd source{line_->descriptor(), events, 0};
    const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(settings_.timeout).count();
    if (::poll(&source, 1, forever ? -1 : static_cast<int>(limit)) == 0)
        give_up(settings_.endpoints.front() + " does not answer");
}

void grpc_client::send() {
    out_.clear();
    session_.take_out(out_);
    std::string_view rest = out_;
    while (!rest.empty()) {
        const net::transport::result reply = line_->write(rest);
        if (reply.is == net::transport::status::done) {
            rest.remove_prefix(reply.bytes);
        } else if (reply.is == net::transport::status::wants_write || reply.is == net::transport::status::wants_read) {
            wait_for(reply.is == net::transport::status::wants_write ? POLLOUT : POLLIN, false);
        } else {
            give_up("the connection broke: " + reply.why);
        }
    }
}

void grpc_client::read(bool forever) {
    if (!line_->holds_more()) wait_for(POLLIN, forever);
    const net::transport::result got = line_->read(room_);
    if (got.is == net::transport::status::closed || got.is == net::transport::status::failed)
        give_up("the connection broke: " + got.why);
    if (got.is != net::transport::status::done) return;
    events_.clear();
    if (!session_.take_in({room_.data(), got.bytes}, events_)) give_up("what the member says is not HTTP/2");
    for (grpc_session::event& each : events_) {
        if (each.stream == stream_) {
            stream_over_ = stream_over_ || each.over;
            if (!each.over) messages_.push_back(std::move(each.message));
        } else if (each.stream == asked_) {
            if (each.over)
                end_ = std::move(each.end);
            else
                answer_ = std::move(each.message);
        }
    }
    send();
}

}  // namespace mortise::inline v0::stores::etcd
