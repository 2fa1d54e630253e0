// R7: a lock that is freed between SETNX and GET is taken for a held one.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/getset.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::getset_misses_a_free_lock {

void naive(actor& me) {
    sell_under_getset(me);
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("inside");
    b.run_to("between SETNX and GET");
    a.run();
    b.await({});
}

story told() {
    return {
        .name = "getset-misses-a-free-lock",
        .row = "R7",
        .documents = "S1, S3",
        .title = {"GETSET misses a free lock", "GETSET 错过空闲的锁"},
        .mistake = {"SETNX and GET are two commands; the lock can be freed between them.",
                    "SETNX 和 GET 是两条命令，锁可能在中间被释放。"},
        .told = {"B finds the lock taken, then finds nothing, and gives up although the lock is free.",
                 "B 先看到锁被占用，再去读已经没有了；锁明明空着，B 却放弃了。"},
        .mend = {"A waiter stands in line on the server and is told.", "等待者在服务器上排队，轮到时会被通知。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::getset_misses_a_free_lock
