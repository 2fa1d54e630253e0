// C9: the master dies before the replica has heard of the lock.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/servers.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::the_master_dies {

void naive(actor& me) {
    const std::size_t master = me.name() == "A" ? 0 : 1;
    if (me.redis(master)({"SET", "lock:ticket", me.name(), "NX", "EX", "30"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
}

void mended(actor& me) {
    const std::size_t master = me.name() == "A" ? 0 : 1;
    mortise::client& locks = me.locks({.durability = mortise::durability::wait(me.name() == "A" ? 1 : 0)}, master);
    mortise::attempt asked = locks.try_acquire("ticket", {.lease = 30s});
    if (!asked) return me.note({"not granted: no replica has it", "未授予：没有副本确认"});
    me.holds(*asked);
    me.at("inside");
}

void play(director& stage) {
    stage.servers().replicate();
    stage.tell({"the network between master and replica is cut", "主从之间的网络断开"});
    stage.servers().cut_replica();
    player& a = stage.enter("A");
    a.begin("inside");
    stage.tell({"the master dies, and the replica is promoted", "主节点宕机，从节点被提升为主节点"});
    stage.servers().kill(0);
    stage.servers().promote_replica();
    player& b = stage.enter("B");
    b.run_to("inside");
}

story told() {
    return {
        .name = "the-master-dies",
        .row = "C9",
        .documents = "S0, S1, S2",
        .title = {"The master dies", "主节点宕机"},
        .mistake = {"The master answers before its replicas have heard of the lock.",
                    "主节点不等从节点同步就返回成功。"},
        .told = {"A has the lock from the master; the replica that takes over knows nothing of it, and gives it to B.",
                 "A 从主节点拿到锁；接替的从节点不知道这把锁，又给了 B。"},
        .mend = {"wait(1): a grant that no replica has stored does not count.", "wait(1)：没有副本确认的授予不算数。"},
        .needs = needs::redis_with_replica,
        .keys = {"lock:ticket"},
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::the_master_dies
