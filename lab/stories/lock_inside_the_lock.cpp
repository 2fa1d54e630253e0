// C10: method A locks and calls method B, which locks the same name.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <mortise/recursive_mutex.hpp>

#include <mutex>

using namespace std::chrono_literals;

namespace lab::lock_inside_the_lock {

void naive(actor& me) {
    const auto lock = [&] { return me.redis()({"SET", "lock:ticket", me.name(), "EX", "10", "NX"}) == "OK"; };
    if (!lock()) return me.refused();
    me.holds();
    // Method B spins until it has the lock; it would do so for ever.
    for (int tries = 0; tries < 3; ++tries) {
        if (lock()) return;
        me.at("method B tries again");
    }
    me.note({"method B waits for method A, which waits for method B", "方法 B 等方法 A，方法 A 等方法 B"});
    me.at("waits for itself");
}

void mended(actor& me) {
    mortise::recursive_mutex tickets{me.locks(), "ticket", {.lease = 10s}};
    std::scoped_lock method_a{tickets};
    me.holds(tickets.hold());
    std::scoped_lock method_b{tickets};
    me.sell();
    me.lets_go();
}

void play(director& stage) {
    if (stage.enter("A").run_to("waits for itself")) stage.sees(mishap::hangs);
}

story told() {
    return {
        .name = "lock-inside-the-lock",
        .row = "C10",
        .documents = "S2",
        .title = {"A lock inside the lock", "锁里再加锁"},
        .mistake = {"The lock is not reentrant, and nobody says so.", "锁不可重入，却没有任何提示。"},
        .told = {"Method A holds the lock and calls method B, which waits for it: for ever.",
                 "方法 A 持锁调用方法 B，方法 B 又要同一把锁，永远等下去。"},
        .mend = {"recursive_mutex counts; a plain mutex answers would_deadlock at once.",
                 "recursive_mutex 会计数；普通 mutex 立即返回 would_deadlock。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::hangs},
    };
}

}  // namespace lab::lock_inside_the_lock
