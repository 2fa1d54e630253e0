// What most stories mend their lock with.
#pragma once

#include "lab/stage/actor.hpp"

#include <mortise/mutex.hpp>

#include <chrono>

namespace lab {

// Relies on the lock no longer, on every way out. Made after the guard that releases it.
class relying {
public:
    explicit relying(actor& who) : who_(who) {}
    ~relying() { who_.lets_go(); }
    relying(const relying&) = delete;
    relying& operator=(const relying&) = delete;

private:
    actor& who_;
};

// Sells one item under a mutex of ours, and stands at "inside" in between.
inline void sell_under_our_mutex(actor& me, std::chrono::nanoseconds lease = std::chrono::seconds{10}) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = lease}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("inside");
    me.sell();
    me.lets_go();
    tickets.unlock();
}

}  // namespace lab
