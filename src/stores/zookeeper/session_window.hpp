// How long a session is known to live. Pure.
//
// The leader ends a session that was not heard of for its timeout T. A server that follows it takes a client's requests and
// tells the leader of them with its next ping, every half tick. So an answer does not yet prove that the leader knows of the
// request: the server may fail, or be cut off from the leader, before it told. But a later answer that came from the leader
// itself went the same way, in order: what was sent well before it has been told by then.
//
//   sent a, answered     T/4 or more     sent b, answered by the leader through the same server
//   |-----x-----------------------------|-----x
//   from here on the leader counts T, at the earliest
//
// No tick is longer than T/2 (the servers' lower bound of T is two ticks unless somebody set it lower), so a ping comes
// within T/4. Beats, which the leader answers, are sent every T/8.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <deque>

namespace mortise::inline v0::stores::zookeeper {

class session_window {
public:
    // A session that was asked for at `asked` is there, with that timeout.
    void begin(spi::time_point asked, spi::duration timeout);

    // The same session goes on with another server, which may give it another timeout.
    void go_on(spi::duration timeout);

    // It is over, or was never there.
    void end();

    // The leader answered what was sent then, to the server that we are connected to.
    void answered(spi::time_point when);

    // How long the servers keep the session, at least; min() if there is none. Leaves room for clocks that run at
    // different speeds.
    spi::time_point until() const;

    spi::duration timeout() const { return timeout_; }

    // What a hold is given at a time: shorter than what is left of the session at most moments.
    spi::duration lease() const { return timeout_ * 2 / 5; }
    static spi::duration lease_of(spi::duration timeout) { return timeout * 2 / 5; }

    // How often to send beats; and how old a session may be when it is there at last.
    spi::duration beat() const { return timeout_ / 8; }
    static spi::duration patience_of(spi::duration timeout) { return timeout / 4; }

private:
    spi::duration timeout_{};
    spi::time_point proven_ = spi::time_point::min();
    std::deque<spi::time_point> heard_;  // when requests were sent that were answered since, in order
};

}  // namespace mortise::inline v0::stores::zookeeper
