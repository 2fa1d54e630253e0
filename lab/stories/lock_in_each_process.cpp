// C1: a mutex of one process does not exist for the next one.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

#include <mutex>

namespace lab::lock_in_each_process {

std::mutex local;  // every process has its own

void naive(actor& me) {
    std::scoped_lock guard{local};
    me.holds();
    me.sell();
    me.lets_go();
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    two_sell_at_once(stage, "node 1", "node 2");
}

story told() {
    return {
        .name = "lock-in-each-process",
        .row = "C1",
        .documents = "S0, S1, S2",
        .title = {"A lock inside each process", "进程内的锁"},
        .mistake = {"std::mutex (synchronized) excludes the threads of one process only.",
                    "std::mutex（synchronized）只能互斥同一进程里的线程。"},
        .told = {"Two nodes behind one balancer enter at the same time, each with its own lock.",
                 "负载均衡后的两个节点各有一把锁，同时进入临界区。"},
        .mend = {"The lock lives where both nodes can see it.", "锁放在两个节点都能看到的地方。"},
        .keys = {"ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap, mishap::lost_update},
    };
}

}  // namespace lab::lock_in_each_process
