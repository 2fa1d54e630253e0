#include "metrics.hpp"

#include "failure.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace command {
namespace {

using mortise::event_kind;

double seconds(std::chrono::nanoseconds span) {
    return std::chrono::duration<double>(span).count();
}

std::string label_value(const std::string& name) {
    std::string shown;
    for (const char c : plain(name)) shown += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    return "{name=\"" + shown + "\"}";
}

// One request, whatever it asks for. A peer that does not speak or read is left after a second.
void answer(const descriptor& peer, const std::string& page) {
    const timeval patience{.tv_sec = 1, .tv_usec = 0};
    ::setsockopt(peer.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    char request[2048];
    static_cast<void>(!::recv(peer.get(), request, sizeof request, 0));
    const std::string all =
        "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: " + std::to_string(page.size()) +
        "\r\n\r\n" + page;
    for (std::size_t sent = 0; sent < all.size();) {
        const ssize_t some = ::send(peer.get(), all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
        if (some <= 0) return;
        sent += static_cast<std::size_t>(some);
    }
}

std::optional<std::size_t> depth_of(mortise::client& locks, const std::string& name) {
    std::error_code ec;
    for (const mortise::held_lock& one : locks.list(ec))
        if (one.name == name) return one.waiting;
    return ec ? std::nullopt : std::optional<std::size_t>{0};
}

}  // namespace

void metrics::on_event(const mortise::event& what) {
    const std::scoped_lock guard{mutex_};
    ++events_[static_cast<std::size_t>(what.kind)];
    if (what.kind == event_kind::renewed) slack_ = seconds(what.took);
    if (what.kind != event_kind::granted && what.kind != event_kind::refused) return;
    std::size_t bucket = 0;
    while (bucket < bounds.size() && seconds(what.took) > bounds[bucket]) ++bucket;
    ++waits_[bucket];
    waited_ += seconds(what.took);
}

std::string metrics::text(const std::string& name, std::optional<std::size_t> depth) const {
    const std::scoped_lock guard{mutex_};
    const std::string of = label_value(name);
    std::ostringstream page;
    page << "# TYPE mortise_events_total counter\n";
    for (std::size_t kind = 0; kind < events_.size(); ++kind) {
        page << "mortise_events_total" << of.substr(0, of.size() - 1) << ",event=\""
             << to_string(static_cast<event_kind>(kind)) << "\"} " << events_[kind] << "\n";
    }
    page << "# TYPE mortise_wait_seconds histogram\n";
    std::uint64_t below = 0;
    for (std::size_t bucket = 0; bucket < waits_.size(); ++bucket) {
        below += waits_[bucket];
        page << "mortise_wait_seconds_bucket" << of.substr(0, of.size() - 1) << ",le=\"";
        if (bucket < bounds.size()) {
            page << bounds[bucket];
        } else {
            page << "+Inf";
        }
        page << "\"} " << below << "\n";
    }
    page << "mortise_wait_seconds_sum" << of << " " << waited_ << "\nmortise_wait_seconds_count" << of << " " << below
         << "\n";
    const auto count = [&](event_kind kind) { return events_[static_cast<std::size_t>(kind)]; };
    page << "# TYPE mortise_holds gauge\nmortise_holds" << of << " "
         << count(event_kind::granted) - std::min(count(event_kind::granted), count(event_kind::released)) << "\n";
    page << "# TYPE mortise_losses_total counter\nmortise_losses_total" << of << " " << count(event_kind::lost) << "\n";
    if (count(event_kind::renewed) > 0)
        page << "# TYPE mortise_renewal_slack_seconds gauge\nmortise_renewal_slack_seconds" << of << " " << slack_
             << "\n";
    if (depth) page << "# TYPE mortise_queue_depth gauge\nmortise_queue_depth" << of << " " << *depth << "\n";
    return page.str();
}

metrics_page::metrics_page(std::uint16_t port) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* address = static_cast<const sockaddr*>(static_cast<const void*>(&at));
    if (::bind(listener_.get(), address, sizeof at) != 0 || ::listen(listener_.get(), 8) != 0)
        throw failure(exit_code::unavailable, "--metrics: cannot listen on 127.0.0.1:" + std::to_string(port) + ": " +
                                                  std::strerror(errno) + "; choose another port");
}

void metrics_page::serve(std::shared_ptr<mortise::client> locks, std::string name) {
    std::thread{[from = std::move(listener_), counts = counts_, locks = std::move(locks), name = std::move(name)] {
        while (true) {
            const descriptor peer{::accept4(from.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (peer) {
                answer(peer, counts->text(name, depth_of(*locks, name)));
            } else {
                std::this_thread::sleep_for(std::chrono::milliseconds{100});  // out of descriptors, for now
            }
        }
    }}.detach();
}

std::optional<std::uint16_t> metrics_port_of(const arguments& given) {
    const auto port = given.value("--metrics");
    if (!port) return std::nullopt;
    return static_cast<std::uint16_t>(read_number("--metrics", *port, 1, 65535));
}

mortise::client_options observed_by(const std::optional<metrics_page>& page) {
    mortise::client_options options;
    if (page) options.observer = page->counts();
    return options;
}

}  // namespace command
