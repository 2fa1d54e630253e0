// A holder that is paused past its lease writes late. A lock cannot mend that; only the resource can.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

#include <mortise/mutex.hpp>

using namespace std::chrono_literals;

namespace lab::pause_past_the_lease {

void naive(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = 10s}};
    tickets.lock();
    me.holds(tickets.hold());
    me.sell();
    me.lets_go();
    tickets.unlock();
}

void mended(actor& me) {
    sell_fenced(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("stock read");
    a.stop();
    stage.pass(11s);
    b.run();
    a.resume();
    a.run();
}

story told() {
    return {
        .name = "pause-past-the-lease",
        .row = "X1",
        .documents = "–",
        .title = {"A pause past the lease", "停顿超过租期"},
        .mistake = {"The holder checks the lock, is paused, and writes when it wakes up.",
                    "持有者检查完锁之后停顿，醒来后继续写入。"},
        .told =
            {"A reads the stock and is paused; its lease ends; B sells; A wakes up and writes what it had computed.",
             "A 读到库存后停顿，租期结束；B 卖出一张；A 醒来，写回旧的计算结果。"},
        .mend = {"Each write carries the token of its lock; the stock takes none that is older than one it has seen.",
                 "每次写入都带上锁的令牌；库存拒绝比见过的更旧的令牌。"},
        .keys = {"ticket", "fenced ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::lost_update},
    };
}

}  // namespace lab::pause_past_the_lease
