// C2: the work takes longer than the lease, and DEL does not ask whose lock it deletes. Lease 10, work 15, 8 and 5.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/story.hpp"

#include <mortise/mutex.hpp>

using namespace std::chrono_literals;

namespace lab::work_outlives_lease {

void naive(actor& me) {
    if (me.redis()({"SET", "lock:ticket", "dewu", "EX", "10", "NX"}) != "OK") return me.refused();
    me.holds();
    me.at("at work");
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = 10s}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("at work");
    me.lets_go();
    tickets.unlock();
}

void play(director& stage) {
    player& first = stage.enter("thread 1");
    player& second = stage.enter("thread 2");
    player& third = stage.enter("thread 3");
    first.run_to("at work");
    stage.pass(10s);
    second.run_to("at work");
    stage.pass(5s);
    first.run();
    second.await("at work");
    third.run_to("at work");
    stage.pass(3s);
    second.run();
    third.await("at work");
    stage.pass(2s);
    third.run();
}

story told() {
    return {
        .name = "work-outlives-lease",
        .row = "C2",
        .documents = "S0, S1, S2, S4",
        .title = {"The work outlives the lease", "业务比租期长"},
        .mistake = {"The lease ends while the holder works, and DEL deletes whatever lock is there.",
                    "租期在业务执行中结束；DEL 不管锁是谁的，直接删除。"},
        .told = {"Thread 2 gets in after 10 s; thread 1 deletes its lock at 15 s, so thread 3 gets in; thread 2 "
                 "deletes that one.",
                 "第 10 秒线程 2 进来；第 15 秒线程 1 删掉线程 2 的锁，线程 3 进来；线程 2 再删掉线程 3 的锁。"},
        .mend = {"The lease is renewed while the holder lives, and only its owner can release it.",
                 "持有者活着就自动续期；只有持有者自己能释放。"},
        .keys = {"lock:ticket"},
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::work_outlives_lease
