// Redlock counts on clocks: when those of a majority jump, a second holder gets in.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/servers.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::redlock_and_a_clock_that_jumps {

void naive(actor& me) {
    int votes = 0;
    for (std::size_t server = 0; server < 5; ++server)
        votes += me.redis(server)({"SET", "lock:ticket", me.name(), "NX", "PX", "10000"}) == "OK";
    if (votes < 3) return me.refused();
    me.holds();
    me.sell();
    me.lets_go();
}

void mended(actor& me) {
    sell_fenced(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("stock read");
    stage.tell({"the clocks of three of five servers jump a minute ahead", "五台服务器中有三台的时钟向前跳了一分钟"});
    for (const std::size_t server : {2, 3, 4}) stage.servers().set_ahead(server, 60s);
    b.run_to("stock read");
    a.run();
    b.run();
}

story told() {
    return {
        .name = "redlock-and-a-clock-that-jumps",
        .row = "X13",
        .documents = "S0, S1",
        .title = {"Redlock and a clock that jumps", "红锁与跳变的时钟"},
        .mistake = {"The lease is counted by the clocks of the servers, and a clock can be set.",
                    "租期由各服务器的时钟计算，而时钟可能被调整。"},
        .told = {"A has five votes; three servers' clocks jump, their keys expire, and B has a majority too.",
                 "A 拿到五票；三台服务器的时钟跳变，键过期，B 也拿到了多数。"},
        .mend = {"No lock mends that: tokens that a majority agrees on, and a stock that rejects the older.",
                 "锁本身无法修正：用多数派一致的令牌，由库存拒绝旧令牌。"},
        .needs = needs::five_redis,
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap, mishap::lost_update},
        .mend_ends_in = {mishap::overlap},
    };
}

}  // namespace lab::redlock_and_a_clock_that_jumps
