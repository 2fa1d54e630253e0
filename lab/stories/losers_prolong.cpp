// EXPIRE before the check: whoever loses prolongs the lock of a dead holder.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::losers_prolong {

void naive(actor& me) {
    const auto taken = me.redis()({"SETNX", "lock:ticket", "dewu"});
    me.redis()({"EXPIRE", "lock:ticket", "10"});
    if (taken != "1") return me.refused();
    me.holds();
    me.at("inside");
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
    player& b = stage.enter("B");
    player& c = stage.enter("C");
    for (player* loser : {&b, &c}) {
        stage.pass(9s);
        loser->run();
    }
    stage.pass(9s);
    b.await({});
    c.await({});
}

story told() {
    return {
        .name = "losers-prolong",
        .row = "X2",
        .documents = "S0",
        .title = {"Losers prolong the lock", "抢锁失败者给锁续期"},
        .mistake = {"EXPIRE stands before the check of SETNX's answer.", "EXPIRE 写在判断 SETNX 结果之前。"},
        .told = {"A dies with a lease of 10 s; each loser renews it, and nobody ever gets in.",
                 "A 带着 10 秒租期死去；每个失败者都给它续期，谁也进不来。"},
        .mend = {"Only the holder renews.", "只有持有者能续期。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::losers_prolong
