// `id != null || id.equals(value)` is true for everybody.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

#include <optional>

using namespace std::chrono_literals;

namespace lab::the_check_that_is_always_true {

void naive(actor& me) {
    const std::optional<std::string> id = me.name();
    if (me.redis()({"SET", "lock:ticket", *id, "EX", "10", "NX"}) != "OK") return me.refused();
    me.holds();
    me.at("inside");
    me.lets_go();
    const auto owner = me.redis()({"GET", "lock:ticket"});
    if (id.has_value() || id == owner) me.redis()({"DEL", "lock:ticket"});
}

void mended(actor& me) {
    overrun_our_lease(me, 10s);
}

void play(director& stage) {
    one_overruns(stage, 10s, {"A", "B", "C"});
}

story told() {
    return {
        .name = "the-check-that-is-always-true",
        .row = "X4",
        .documents = "S2",
        .title = {"The check that is always true", "永远为真的判断"},
        .mistake = {"`id != null || id.equals(owner)` is true for everybody.",
                    "`id != null || id.equals(owner)` 对任何人都成立。"},
        .told = {"The owner is compared, and the lock of B is deleted all the same.",
                 "看似比较了持有者，B 的锁照样被 A 删掉。"},
        .mend = {"The server compares, not the caller.", "由服务器比较，而不是调用者。"},
        .keys = {"lock:ticket"},
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::the_check_that_is_always_true
