// C11: a writer that tries once and gives up loses its write.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <algorithm>

using namespace std::chrono_literals;

namespace lab::try_once {

void naive(actor& me) {
    if (me.redis()({"SET", "lock:ticket", me.name(), "EX", "10", "NX"}) != "OK") {
        me.refused();
        return me.note({"gives up: its sale is never written", "放弃：这次写入丢失了"});
    }
    me.holds();
    me.at("inside");
    me.sell();
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = 10s}};
    if (!tickets.try_lock_for(5s)) return me.refused();
    me.holds(tickets.hold());
    me.at("inside");
    me.sell();
    me.lets_go();
    tickets.unlock();
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("inside");
    b.run_to("inside");
    stage.pass(2s);
    a.run();
    b.await("inside");
    b.run();
    if (std::ranges::count(stage.so_far(), kind::sold, &event::kind) < 2) stage.sees(mishap::gives_up);
}

story told() {
    return {
        .name = "try-once",
        .row = "C11",
        .documents = "S2",
        .title = {"Try once and give up", "只试一次就放弃"},
        .mistake = {"The lock is tried once, and a refusal is taken for an answer.",
                    "只尝试一次加锁，失败就直接返回。"},
        .told = {"B finds the lock taken and returns; what it had to write is lost.",
                 "B 发现锁被占用就返回，要写的数据丢失了。"},
        .mend = {"A bounded wait: try_lock_for.", "有限等待：try_lock_for。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::gives_up},
    };
}

}  // namespace lab::try_once
