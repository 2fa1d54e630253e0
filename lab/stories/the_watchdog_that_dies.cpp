// One failed renewal ends the watchdog, and nobody is told.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/servers.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::the_watchdog_that_dies {

void naive(actor& me) {
    if (me.name() == "A's watchdog") {
        me.at("a third of the lease is over");
        me.ask_in_vain({"EXPIRE", "lock:ticket", "30"});
        // future.isSuccess() is false, the error is logged, and no other one is scheduled.
        return me.note({"logs the error and does not start again", "记录错误后不再续期"});
    }
    if (me.redis()({"SET", "lock:ticket", me.name(), "EX", "30", "NX"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
    me.sell();
    me.lets_go();
    if (me.redis()({"GET", "lock:ticket"}) == me.name()) me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    sell_under_our_mutex(me, 30s);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player* dog = stage.which() == form::naive ? &stage.enter("A's watchdog") : nullptr;  // a client of ours is its own
    a.run_to("inside");
    if (dog) dog->run_to("a third of the lease is over");
    stage.pass(9s);
    stage.tell({"the server does not answer for a while", "服务器一时没有答复"});
    stage.servers().hold_writes();
    stage.pass_unanswered(1s);
    if (dog) dog->run();
    stage.pass_unanswered(2s);
    stage.tell({"the server answers again", "服务器恢复答复"});
    stage.servers().answer_writes();
    stage.pass(19s);
    a.run_to("stock read");
    player& b = stage.enter("B");
    b.run_to("stock read");
    a.run();
    b.await("stock read");
    b.run();
}

story told() {
    return {
        .name = "the-watchdog-that-dies",
        .row = "X8",
        .documents = "S0",
        .title = {"The watchdog that dies of one error", "一次出错就死掉的看门狗"},
        .mistake = {"A renewal that fails is not tried again, and the holder is not told.",
                    "续期失败一次就不再重试，持有者也不知道。"},
        .told = {"One renewal has no answer; 20 s later the lease ends under the holder, and B gets in.",
                 "一次续期没有得到答复；20 秒后租期结束，持有者毫不知情，B 进来了。"},
        .mend = {"A renewal is repeated while the lease lasts; after that the hold says that it is lost.",
                 "租期内反复重试续期；过后锁会报告已丢失。"},
        .own_server_because = "it makes the server hold its answers back",
        .keys = {"lock:ticket"},
        .options = "timeout=2s",
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap, mishap::lost_update},
    };
}

}  // namespace lab::the_watchdog_that_dies
