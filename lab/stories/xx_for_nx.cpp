// setIfPresent is XX: it sets the key only if it exists.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::xx_for_nx {

void naive(actor& me) {
    if (me.redis()({"SET", "lock:ticket", me.name(), "EX", "10", "XX"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
    me.sell();
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    stage.enter("A").run();
    stage.enter("B").run();
}

story told() {
    return {
        .name = "xx-for-nx",
        .row = "X5",
        .documents = "S0",
        .title = {"XX for NX", "把 NX 写成了 XX"},
        .mistake = {"setIfPresent sends XX, which sets the key only if it is there.",
                    "setIfPresent 发送的是 XX：键存在时才设置。"},
        .told = {"The key is never there, so nobody ever gets the lock.", "键从来不存在，所以谁也拿不到锁。"},
        .mend = {"lock() is the whole protocol.", "lock() 就是全部协议。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::xx_for_nx
