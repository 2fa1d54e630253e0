// R1: SETNX takes, DEL frees, and the work in between throws.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <mutex>
#include <stdexcept>

using namespace std::chrono_literals;

namespace lab::setnx_and_del {

void naive(actor& me) {
    if (me.redis()({"SETNX", "lock:ticket", "dewu"}) != "1") return me.refused();
    me.holds();
    me.at("inside");
    if (me.name() == "A") throw std::runtime_error("the work fails");
    me.sell();
    me.lets_go();
    me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket", {.lease = 10s}};
    std::scoped_lock guard{tickets};
    me.holds(tickets.hold());
    const relying inside{me};
    me.at("inside");
    if (me.name() == "A") throw std::runtime_error("the work fails");
    me.sell();
}

void play(director& stage) {
    stage.enter("A").run();
    stage.pass(1h);
    stage.enter("B").run();
}

story told() {
    return {
        .name = "setnx-and-del",
        .row = "R1",
        .documents = "S0, S4",
        .title = {"SETNX and DEL", "SETNX 加 DEL"},
        .mistake = {"DEL is skipped when the work throws.", "业务抛出异常时，DEL 不会执行。"},
        .told = {"A throws; its key stays for ever; B and everybody after it is refused.",
                 "A 抛出异常，键永远留在 Redis 里，后来的线程都加锁失败。"},
        .mend = {"A guard releases the lock on every way out.", "守卫对象在任何退出路径上都会释放锁。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .throws = true,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::setnx_and_del
