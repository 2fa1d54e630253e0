// A thread id is an owner only inside its process.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

#include <string>

using namespace std::chrono_literals;

namespace lab::thread_id_as_owner {

void naive(actor& me) {
    const std::string thread_id = "1";  // of the first thread of every process
    if (me.redis()({"SET", "lock:ticket", thread_id, "EX", "10", "NX"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
    me.lets_go();
    me.redis()({"EVAL",
                "-- compare and delete\n if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', "
                "KEYS[1]) end return 0",
                "1", "lock:ticket", thread_id});
}

void mended(actor& me) {
    overrun_our_lease(me, 10s);
}

void play(director& stage) {
    one_overruns(stage, 10s, {"node 1", "node 2", "node 3"});
}

story told() {
    return {
        .name = "thread-id-as-owner",
        .row = "X9",
        .documents = "S2",
        .title = {"The thread id as owner", "用线程 id 当持有者"},
        .mistake = {"Thread 1 of one node and thread 1 of another have the same id.",
                    "不同节点上都有线程 1，id 相同。"},
        .told = {"The compare-and-delete script finds \"its\" id and deletes the lock of another node.",
                 "比较并删除的脚本看到“自己的”id，删掉了另一个节点的锁。"},
        .mend = {"A claim has 128 random bits of its own.", "每次加锁都有自己的 128 位随机标识。"},
        .keys = {"lock:ticket"},
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::thread_id_as_owner
