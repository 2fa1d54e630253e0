// How long a session is certain to live. Pure.
//
// The leader expires a session that it has not heard from for its timeout T. A follower accepts a client's requests and
// reports them to the leader with its next ping, every half tick. So a reply does not yet prove that the leader knows of the
// request: the follower may fail, or be cut off from the leader, before it reports it. But a later reply that came from the leader
// itself went the same way, in order: what was sent well before it has been reported by then.
//
//   sent a, answered     T/4 or more     sent b, answered by the leader through the same server
//   |-----x-----------------------------|-----x
//   the leader counts T from here, at the earliest
//
// No tick is longer than T/2 (minSessionTimeout is two ticks by default), so a ping comes
// within T/4. Heartbeats, which the leader answers, are sent every T/8.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <deque>

namespace mortise::inline v0::stores::zookeeper {

class session_window {
public:
    // A session that was requested at `asked` has started, with that timeout.
    void begin(spi::time_point asked, spi::duration timeout);

    // The same session continues on another server, which may give it another timeout.
    void go_on(spi::duration timeout);

    // It has ended.
    void end();

    // The leader answered a request that was sent then, to the server that we are connected to.
    void answered(spi::time_point when);

    // How long the servers keep the session, at least; min() if there is none. Allows for clock drift.
    spi::time_point until() const;

    spi::duration timeout() const { return timeout_; }

    // The lease of a hold: shorter than what is left of the session most of the time.
    spi::duration lease() const { return timeout_ * 2 / 5; }
    static spi::duration lease_of(spi::duration timeout) { return timeout * 2 / 5; }

    // The period of heartbeats; and how old a session may be when the servers confirm it.
    spi::duration beat() const { return timeout_ / 8; }
    static spi::duration patience_of(spi::duration timeout) { return timeout / 4; }

private:
    spi::duration timeout_{};
    spi::time_point proven_ = spi::time_point::min();
    std::deque<spi::time_point> heard_;  // when the requests were sent that have been answered, in order
};

}  // namespace mortise::inline v0::stores::zookeeper
