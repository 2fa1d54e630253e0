#include "stores/zookeeper/session_keepalive.hpp"

#include <algorithm>

namespace mortise::inline v0::stores::zookeeper {
namespace {

constexpr std::chrono::milliseconds between_nudges{500};

}  // namespace

void session_keepalive::started(std::int64_t id, spi::time_point requested_at, spi::duration timeout) {
    {
        const std::scoped_lock guard{mutex_};
        id_ = id;
        window_.begin(requested_at, timeout);
    }
    if (!closed_) beat();
}

void session_keepalive::reconnected(spi::duration timeout) {
    const std::scoped_lock guard{mutex_};
    window_.go_on(timeout);
}

void session_keepalive::expired() {
    const std::scoped_lock guard{mutex_};
    id_ = 0;
    window_.end();
}

// Tells the servers that we live. The leader answers, which proves for how long they will believe it.
void session_keepalive::beat() {
    const spi::time_point sent = clock_.now();
    servers_.sync([this, sent](const request_status& status) {
        if (!status.ok()) return;
        const std::scoped_lock guard{mutex_};
        window_.answered(sent);
    });
    if (on_heartbeat_) on_heartbeat_(sent);
    beat_later();
}

void session_keepalive::beat_later() {
    const std::scoped_lock guard{mutex_};
    if (closed_ || id_ == 0) return;
    if (timer_ != 0) clock_.cancel(timer_);
    timer_ = clock_.at(clock_.now() + window_.beat(), [this] {
        if (!closed_) beat();
    });
}

void session_keepalive::nudge() {
    {
        const std::scoped_lock guard{mutex_};
        const spi::time_point now = clock_.now();
        if (now - nudged_ < between_nudges) return;
        nudged_ = now;
    }
    servers_.sync([](const request_status&) {});
}

void session_keepalive::close() noexcept {
    if (closed_.exchange(true)) return;
    const std::scoped_lock guard{mutex_};
    if (timer_ != 0) clock_.cancel(timer_);
}

bool session_keepalive::is(std::int64_t id) const {
    const std::scoped_lock guard{mutex_};
    return id_ == id;
}

std::optional<spi::duration> session_keepalive::timeout() const {
    const std::scoped_lock guard{mutex_};
    return id_ != 0 ? std::optional{window_.timeout()} : std::nullopt;
}

spi::time_point session_keepalive::alive_until() const {
    const std::scoped_lock guard{mutex_};
    return window_.until();
}

session_keepalive::lease session_keepalive::lease_for(std::optional<spi::duration> wanted) const {
    const std::scoped_lock guard{mutex_};
    const spi::duration length = std::min(wanted.value_or(window_.lease()), window_.lease());
    return {.length = length, .counted_from = std::min(clock_.now(), window_.until() - length)};
}

}  // namespace mortise::inline v0::stores::zookeeper
