// Keeps a session alive by heartbeats, and knows how long it is certain to live.
#pragma once

#include "stores/zookeeper/session.hpp"
#include "stores/zookeeper/session_window.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {

// Safe to use from all threads.
class session_keepalive {
public:
    session_keepalive(session& servers, spi::clock& clock) : servers_(servers), clock_(clock) {}

    // Called with the time at each heartbeat. To be set once, before the session starts.
    void on_heartbeat(unique_function<void(spi::time_point)> then) { on_heartbeat_ = std::move(then); }

    void started(std::int64_t id, spi::time_point requested_at, spi::duration timeout);
    void reconnected(spi::duration timeout);
    void expired();

    // Sends a request of its own, at most twice a second. A server may leave a request unprocessed until the next one comes
    // (README.md); one is enough for all that wait, and a slow server is not to be asked ever more.
    void nudge();

    void close() noexcept;  // no heartbeat after it, but for one that has begun

    bool is(std::int64_t id) const;                // the session that there is
    std::optional<spi::duration> timeout() const;  // none: there is no session
    spi::time_point alive_until() const;           // at least; min(): there is no session

    // The lease of a hold: as long as was asked for, but no longer than the session is certain to live.
    struct lease {
        spi::duration length;
        spi::time_point counted_from;
    };
    lease lease_for(std::optional<spi::duration> wanted) const;

private:
    void beat();
    void beat_later();

    session& servers_;
    spi::clock& clock_;
    unique_function<void(spi::time_point)> on_heartbeat_;
    std::atomic<bool> closed_{false};

    mutable std::mutex mutex_;
    session_window window_;
    std::int64_t id_ = 0;  // 0: none
    spi::clock::timer_id timer_ = 0;
    spi::time_point nudged_{};
};

}  // namespace mortise::inline v0::stores::zookeeper
