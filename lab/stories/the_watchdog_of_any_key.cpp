// The watchdog renews whenever the key exists, whoever owns it.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::the_watchdog_of_any_key {

// The thread that renews is an actor of its own here: it goes on when the one it served has long gone.
void naive(actor& me) {
    if (me.name() == "A's watchdog") {
        for (;;) {
            me.at("a third of the lease is over");
            if (me.redis()({"EXISTS", "lock:ticket"}) != "1") return;
            me.redis()({"EXPIRE", "lock:ticket", "30"});
        }
    }
    if (me.redis()({"SET", "lock:ticket", me.name(), "EX", "30", "NX"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    sell_under_our_mutex(me, 30s);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player* dog =
        stage.which() == form::naive ? &stage.enter("A's watchdog") : nullptr;  // a client renews its own claims
    player& b = stage.enter("B");
    a.run_to("inside");
    if (dog) dog->run_to("a third of the lease is over");
    a.run();
    b.run_to("inside");
    b.crash();
    for (int third = 0; third < 4; ++third) {
        stage.pass(10s);
        if (dog) dog->run_to("a third of the lease is over");
    }
    stage.enter("C").run();
}

story told() {
    return {
        .name = "the-watchdog-of-any-key",
        .row = "X7",
        .documents = "S0",
        .title = {"The watchdog of any key", "给任何键续期的看门狗"},
        .mistake = {"The watchdog renews if the key exists; it does not look whose it is.",
                    "看门狗只判断键是否存在，不看是谁的。"},
        .told = {"A has gone and B has died, but A's watchdog keeps B's lock alive; nobody gets it any more.",
                 "A 已释放，B 已崩溃，A 的看门狗却一直给 B 的锁续期，谁也拿不到。"},
        .mend = {"A renewal names the claim that it renews.", "续期必须指明是哪一次加锁。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::the_watchdog_of_any_key
