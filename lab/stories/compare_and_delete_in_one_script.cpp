// R6: the owner is compared and the lock deleted in one script. It holds.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

namespace lab::compare_and_delete_in_one_script {

void naive(actor& me) {
    if (me.redis()({"SET", "lock:ticket", me.name(), "EX", "10", "NX"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
    me.lets_go();
    me.at("before the release");
    me.redis()({"EVAL",
                "-- compare and delete\n if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', "
                "KEYS[1]) end return 0",
                "1", "lock:ticket", me.name()});
}

void mended(actor& me) {
    release_ours_late(me);
}

void play(director& stage) {
    one_releases_late(stage);
}

story told() {
    return {
        .name = "compare-and-delete-in-one-script",
        .row = "R6",
        .documents = "S1, S2, S4",
        .title = {"Compare and delete in one script", "一个脚本里的比较和删除"},
        .mistake = {"None here: nothing fits between the two.", "这里没有错误：两步之间插不进别的命令。"},
        .told = {"A wakes up late and deletes nothing, because the lock is B's; C is refused.",
                 "A 醒来太晚，锁已是 B 的，什么也没删；C 加锁失败。"},
        .mend = {"Nothing to mend.", "不需要修正。"},
        .keys = {"lock:ticket"},
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {},
    };
}

}  // namespace lab::compare_and_delete_in_one_script
