// R3: SETNX and PEXPIRE in one script. It holds.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::set_and_expire_in_one_script {

void naive(actor& me) {
    const auto taken = me.redis()({"EVAL",
                                   "-- SETNX and PEXPIRE\n if redis.call('SETNX', KEYS[1], ARGV[1]) == 1 then "
                                   "redis.call('PEXPIRE', KEYS[1], ARGV[2]) "
                                   "return 1 else return 0 end",
                                   "1", "lock:ticket", me.name(), "10000"});
    if (taken != "1") return me.refused();
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
    player& a = stage.enter("A");
    a.run_to("inside");
    a.crash();
    stage.pass(11s);
    stage.enter("B").run();
}

story told() {
    return {
        .name = "set-and-expire-in-one-script",
        .row = "R3",
        .documents = "S1",
        .title = {"SETNX and PEXPIRE in one script", "一个脚本里的 SETNX 和 PEXPIRE"},
        .mistake = {"None here: a script runs as one step.", "这里没有错误：脚本作为一步执行。"},
        .told = {"A dies wherever it likes: the key has its expiry, and B gets the lock after it.",
                 "A 随时可能死去：键总有过期时间，到期后 B 拿到锁。"},
        .mend = {"Nothing to mend.", "不需要修正。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {},
    };
}

}  // namespace lab::set_and_expire_in_one_script
