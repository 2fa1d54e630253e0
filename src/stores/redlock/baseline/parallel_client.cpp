#include "stores/redlock/baseline/parallel_client.hpp"

#include "base/quorum_vote.hpp"
#include "net/endpoint.hpp"
#include "net/resolve.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <future>

#include <poll.h>

namespace mortise::inline v0::stores::redlock {
namespace {

using net::transport;

[[noreturn]] void fail(const std::string& what) {
    throw error(errc::unreachable, what);
}

void wait_for(const transport& socket, short events) {
    pollfd one{.fd = socket.descriptor(), .events = events, .revents = 0};
    ::poll(&one, 1, 2000);
}

std::unique_ptr<transport> connected(const std::string& host) {
    const auto where = net::endpoint::in(host, 6379).value();
    std::promise<std::pair<std::vector<net::resolved_address>, std::string>> found;
    net::resolve(where, [&](auto all, auto why) { found.set_value({std::move(all), std::move(why)}); });
    const auto [addresses, why] = found.get_future().get();
    if (addresses.empty()) fail(host + ": " + why);
    auto socket = net::connect_to(addresses.front().where, addresses.front().length);
    while (true) {
        const transport::result is = socket->establish();
        if (is.is == transport::status::done) return socket;
        if (is.is == transport::status::failed || is.is == transport::status::closed) fail(host + ": " + is.why);
        wait_for(*socket, is.is == transport::status::wants_read ? POLLIN : POLLOUT);
    }
}

}  // namespace

parallel_client::parallel_client(const std::vector<std::string>& hosts) {
    for (const std::string& host : hosts) lines_.push_back({connected(host)});
}

// Ends of lines in what has come.
std::size_t parallel_client::read(line& from) {
    std::array<char, 4096> room;
    const transport::result got = from.socket->read(room);
    if (got.is == transport::status::wants_read) return 0;
    if (got.is != transport::status::done) fail(got.why.empty() ? "a server has gone" : got.why);
    return static_cast<std::size_t>(
        std::count(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(got.bytes), '\n'));
}

void parallel_client::ask(std::string_view command) {
    for (line& one : lines_) {
        if (one.socket->write(command).bytes != command.size()) fail("a server takes no more");
        ++one.due;
    }
    std::vector<pollfd> open;
    for (const line& one : lines_) open.push_back({.fd = one.socket->descriptor(), .events = POLLIN, .revents = 0});
    const auto answered = [&] {
        return static_cast<std::size_t>(
            std::count_if(lines_.begin(), lines_.end(), [](const line& one) { return one.due == 0; }));
    };
    while (answered() < base::majority_of(lines_.size())) {
        if (::poll(open.data(), open.size(), 2000) == 0) fail("a majority of the servers does not answer");
        for (std::size_t i = 0; i < open.size(); ++i)
            if (open[i].revents != 0) lines_[i].due -= std::min(lines_[i].due, read(lines_[i]));
    }
}

}  // namespace mortise::inline v0::stores::redlock
