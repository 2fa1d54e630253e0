// R7: whoever wants the lock judges by its own clock whether it has expired.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/getset.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::getset_and_a_fast_clock {

void naive(actor& me) {
    sell_under_getset(me);
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B, a minute ahead", 60s);
    a.run_to("stock read");
    b.run_to("stock read");
    a.run();
    b.await("stock read");
    b.run();
}

story told() {
    return {
        .name = "getset-and-a-fast-clock",
        .row = "R7",
        .documents = "S1, S3",
        .title = {"GETSET and a fast clock", "GETSET 与走快的时钟"},
        .mistake = {"Whether a lock has expired is judged by the clock of whoever wants it.",
                    "锁是否过期由想要锁的人的时钟判断。"},
        .told = {"B's clock is a minute ahead; it takes A's fresh lock for an old one and takes it over.",
                 "B 的时钟快一分钟，把 A 刚加的锁当成过期的锁抢走。"},
        .mend = {"Only one clock counts a lease, the server's; no client compares times.",
                 "租期只由服务器的时钟计算，客户端不比较时间。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap, mishap::lost_update},
    };
}

}  // namespace lab::getset_and_a_fast_clock
