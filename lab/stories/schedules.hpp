// What several stories share: the schedule that breaks their locks, and the lock of ours that stands it.
#pragma once

#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"

#include <mortise/mutex.hpp>

#include <array>
#include <chrono>
#include <string>

namespace lab {

// Both have read the stock before either writes it; unless the second has to wait.
inline void two_sell_at_once(director& stage, const std::string& first, const std::string& second) {
    player& a = stage.enter(first);
    player& b = stage.enter(second);
    a.run_to("stock read");
    b.run_to("stock read");
    a.run();
    b.await("stock read");
    b.run();
}

// The first is still inside when its lease has ended, and lets go when the second is inside. Then the third comes.
inline void one_overruns(director& stage, std::chrono::nanoseconds lease, const std::array<std::string, 3>& names) {
    player& a = stage.enter(names[0]);
    a.run_to("inside");
    stage.pass(lease + std::chrono::seconds{1});
    player& b = stage.enter(names[1]);
    b.run_to("inside");
    a.run();
    player& c = stage.enter(names[2]);
    c.run_to("inside");
    b.run();
    c.await("inside");
    c.run();
}

// Under a lock of ours whose lease is not renewed.
inline void overrun_our_lease(actor& me, std::chrono::nanoseconds lease) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = lease, .renew = mortise::renew::off}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("inside");
    me.lets_go();
    tickets.unlock();
}

// A pause before the release, past the lease.
inline void one_releases_late(director& stage) {
    player& a = stage.enter("A");
    a.run_to({"between GET and DEL", "before the release"});
    a.stop();
    stage.pass(std::chrono::seconds{11});
    player& b = stage.enter("B");
    b.run_to("inside");
    a.resume();
    a.run();
    player& c = stage.enter("C");
    c.run_to("inside");
    b.run();
    c.await("inside");
    c.run();
}

inline void release_ours_late(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = std::chrono::seconds{10}}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("inside");
    me.lets_go();
    me.at("before the release");
    tickets.unlock();
}

// Each step of the sale carries the token of the lock.
inline void sell_fenced(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = std::chrono::seconds{10}}};
    tickets.lock();
    me.holds(tickets.hold());
    if (!me.sell(tickets.hold().token())) me.note({"the stock rejects an old token", "库存拒绝了旧令牌"});
    me.lets_go();
    tickets.unlock();
}

}  // namespace lab
