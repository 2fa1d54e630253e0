// R2: SETNX and EXPIRE are two commands, and a process can die between them.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/story.hpp"

#include <mortise/mutex.hpp>

namespace lab::setnx_then_expire {

void naive(actor& me) {
    if (me.redis()({"SETNX", "lock:ticket", me.name()}) != "1") return me.refused();
    me.at("between SETNX and EXPIRE");
    me.redis()({"EXPIRE", "lock:ticket", "10"});
    me.holds();
    me.at("inside");
    me.sell();
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = std::chrono::seconds{10}}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("inside");
    me.sell();
    me.lets_go();
    tickets.unlock();
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to({"between SETNX and EXPIRE", "inside"});
    a.crash();
    stage.pass(std::chrono::hours{1});
    b.run();
}

story told() {
    return {
        .name = "setnx-then-expire",
        .row = "R2",
        .documents = "S0–S4",
        .title = {"SETNX, then EXPIRE", "先 SETNX，再 EXPIRE"},
        .mistake = {"Taking the lock and giving it an expiry are two commands.",
                    "加锁和设置过期时间是两条命令，不是原子的。"},
        .told = {"The process dies between the two; the key has no expiry, and nobody gets the lock any more.",
                 "进程在两条命令之间崩溃，键没有过期时间，谁也拿不到锁了。"},
        .mend = {"Owner and lease are written in one step.", "持有者和租期在一步之内写入。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::setnx_then_expire
