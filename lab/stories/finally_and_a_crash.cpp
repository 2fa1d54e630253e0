// R1: finally frees the lock when the work throws, but nothing runs when the process dies.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::finally_and_a_crash {

void naive(actor& me) {
    if (me.redis()({"SETNX", "lock:ticket", "dewu"}) != "1") return me.refused();
    me.holds();
    me.at("inside");
    me.sell();
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});  // finally
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    a.crash();
    stage.pass(1h);
    stage.enter("B").run();
}

story told() {
    return {
        .name = "finally-and-a-crash",
        .row = "R1",
        .documents = "S0",
        .title = {"finally does not survive a crash", "finally 挡不住崩溃"},
        .mistake = {"The lock has no expiry, and a dead process frees nothing.",
                    "锁没有过期时间，死掉的进程什么也释放不了。"},
        .told = {"The service is redeployed or loses power inside the lock; its key stays for ever.",
                 "服务在持锁时宕机或重新发布，键没有删掉，造成死锁。"},
        .mend = {"Every grant has a lease; it ends with it.", "每次授予都有租期，到期自动结束。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::finally_and_a_crash
