// R7: a loser's GETSET overwrites the expiry that the winner has written.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/getset.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::getset_of_a_loser {

void naive(actor& me) {
    sell_under_getset(me);
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    a.crash();
    stage.pass(11s);
    player& b = stage.enter("B");
    player& c = stage.enter("C, an hour ahead", 1h);
    b.run_to({"between GET and GETSET", "inside"});
    c.run_to("between GET and GETSET");
    b.run_to("inside");
    c.run_to("inside");
    b.crash();
    stage.pass(11s);
    player& d = stage.enter("D");
    d.run();
    c.await({});
    d.await({});
}

story told() {
    return {
        .name = "getset-of-a-loser",
        .row = "R7",
        .documents = "S1, S3",
        .title = {"GETSET of a loser", "失败者的 GETSET"},
        .mistake = {"GETSET writes before it tells who has won.", "GETSET 先写入，再告诉你有没有抢到。"},
        .told = {"B wins; C loses, but its expiry, an hour ahead, now stands in the lock. B dies, and its lease of 10 "
                 "s lasts an hour.",
                 "B 抢到锁；C 没抢到，却把自己快一小时的过期时间写进了锁。B 死后，10 秒的租期变成一小时。"},
        .mend = {"Who is refused writes nothing.", "被拒绝的人什么也不写。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::getset_of_a_loser
