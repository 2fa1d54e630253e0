// R4: SET NX PX is atomic, but DEL deletes whatever lock is there.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::set_nx_then_del {

void naive(actor& me) {
    if (me.redis()({"SET", "lock:ticket", "true", "NX", "PX", "5000"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    overrun_our_lease(me, 5s);
}

void play(director& stage) {
    one_overruns(stage, 5s, {"A", "B", "C"});
}

story told() {
    return {
        .name = "set-nx-then-del",
        .row = "R4",
        .documents = "S0, S1, S2, S4",
        .title = {"SET NX PX, and DEL", "SET NX PX，然后 DEL"},
        .mistake = {"DEL does not ask whose lock it deletes.", "DEL 不问锁是谁的。"},
        .told = {"A overruns its lease, B takes the lock, A deletes B's lock, and C enters while B is inside.",
                 "A 超时，B 拿到锁；A 执行 DEL，删掉的是 B 的锁；C 在 B 还在里面时进来。"},
        .mend = {"A release names its claim: it can only end that one.", "释放时带上自己的标识，只能释放自己的锁。"},
        .keys = {"lock:ticket"},
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::set_nx_then_del
