// The lock's key is also the key of the stock.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::the_lock_is_the_stock {

void naive(actor& me) {
    if (me.redis()({"SETNX", "ticket", "dewu"}) != "1") return me.refused();
    me.holds();
    me.at("inside");
    me.sell();
    me.lets_go();
    me.redis()({"DEL", "ticket"});
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    stage.enter("A").run();
    stage.enter("B").run();
}

story told() {
    return {
        .name = "the-lock-is-the-stock",
        .row = "X6",
        .documents = "S0",
        .title = {"The lock is the stock", "锁和库存用了同一个键"},
        .mistake = {"The same key, `ticket`, is the lock and the number of tickets.",
                    "同一个键 ticket 既是锁，又是余票数。"},
        .told = {"The stock exists, so SETNX never succeeds: nobody sells anything.",
                 "库存键一直存在，SETNX 永远失败，一张票也卖不出去。"},
        .mend = {"Names of locks have a space of their own.", "锁名有自己的命名空间。"},
        .keys = {"ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::the_lock_is_the_stock
