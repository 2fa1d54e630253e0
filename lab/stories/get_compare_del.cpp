// R5, C3: comparing the owner and deleting the lock are two commands; a pause fits between them.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

namespace lab::get_compare_del {

void naive(actor& me) {
    if (me.redis()({"SET", "lock:ticket", me.name(), "EX", "10", "NX"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
    me.lets_go();
    if (me.redis()({"GET", "lock:ticket"}) == me.name()) {
        me.at("between GET and DEL");
        me.redis()({"DEL", "lock:ticket"});
    }
}

void mended(actor& me) {
    release_ours_late(me);
}

void play(director& stage) {
    one_releases_late(stage);
}

story told() {
    return {
        .name = "get-compare-del",
        .row = "R5",
        .documents = "S0, S2, S4",
        .title = {"Compare, then delete", "先比较，再删除"},
        .mistake = {"GET and DEL are two commands, and the lock can change hands between them.",
                    "GET 和 DEL 是两条命令，中间锁可能易主。"},
        .told = {"A compares, is paused by its garbage collector, and deletes B's lock when it wakes up; C gets in "
                 "beside B.",
                 "A 比较之后遇到 GC 停顿，醒来删掉了 B 的锁；C 趁虚而入。"},
        .mend = {"Comparing and deleting are one step of the server.", "比较和删除在服务器上是一步。"},
        .keys = {"lock:ticket"},
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::get_compare_del
