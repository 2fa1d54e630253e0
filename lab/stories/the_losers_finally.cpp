// The loser returns inside try, so its finally deletes the winner's lock.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::the_losers_finally {

void naive(actor& me) {
    const bool mine = me.redis()({"SETNX", "lock:ticket", "dewu"}) == "1";
    if (mine) {
        me.holds();
        me.at("inside");
        me.lets_go();
    } else {
        me.refused();
    }
    me.redis()({"DEL", "lock:ticket"});  // finally: on every way out of the try
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    player& c = stage.enter("C");
    a.run_to("inside");
    b.run();
    c.run_to("inside");
    a.run();
    b.await("inside");
    b.run();
    c.await("inside");
    c.run();
}

story told() {
    return {
        .name = "the-losers-finally",
        .row = "X3",
        .documents = "S0",
        .title = {"The loser's finally", "失败者的 finally"},
        .mistake = {"SETNX stands inside the try, so whoever loses also runs finally.",
                    "SETNX 写在 try 里面，没抢到锁的线程也会执行 finally。"},
        .told = {"B is refused, and on its way out deletes A's lock; C gets in beside A.",
                 "B 加锁失败，退出时 finally 删掉了 A 的锁，C 进来了。"},
        .mend = {"Who holds nothing has nothing to release.", "没有持锁就没有可释放的东西。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::the_losers_finally
