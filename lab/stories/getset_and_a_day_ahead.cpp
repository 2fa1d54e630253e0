// R7: whoever takes the lock writes its expiry by its own clock.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/getset.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::getset_and_a_day_ahead {

void naive(actor& me) {
    sell_under_getset(me);
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    player& a = stage.enter("A, a day ahead", 24h);
    a.run_to("inside");
    a.crash();
    stage.pass(1h);
    stage.enter("B").run();
}

story told() {
    return {
        .name = "getset-and-a-day-ahead",
        .row = "R7",
        .documents = "S1, S3",
        .title = {"GETSET and a clock a day ahead", "GETSET 与快一天的时钟"},
        .mistake = {"The holder writes the time of expiry by its own clock.", "持有者用自己的时钟写下过期时间。"},
        .told = {"A's clock is a day ahead; A dies, and the others wait a day for a lease of 10 s.",
                 "A 的时钟快一天；A 死后，别人要为 10 秒的租期等上一天。"},
        .mend = {"The server counts the lease.", "租期由服务器计时。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::getset_and_a_day_ahead
