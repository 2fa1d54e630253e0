// C1: read, subtract, write: three steps and no lock.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

namespace lab::no_lock {

void naive(actor& me) {
    me.holds();  // as if it were alone
    me.sell();
    me.lets_go();
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    two_sell_at_once(stage, "A", "B");
}

story told() {
    return {
        .name = "no-lock",
        .row = "C1",
        .documents = "S0, S1, S2, S4",
        .title = {"No lock at all", "完全没有锁"},
        .mistake = {"Reading the stock and writing it back are two steps.", "读库存和写库存是两步，不是原子的。"},
        .told = {"Both read 20 and both write 19: two tickets are sold, one is taken off.",
                 "两个线程都读到 20，都写回 19：卖了两张，只扣了一张。"},
        .mend = {"One at a time reads and writes.", "一次只有一个人读和写。"},
        .keys = {"ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap, mishap::lost_update},
    };
}

}  // namespace lab::no_lock
