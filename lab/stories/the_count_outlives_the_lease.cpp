// R8: a thread-local counter over SET NX EX 5 does not know that the lease has ended.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <mortise/recursive_mutex.hpp>

#include <map>
#include <string>

using namespace std::chrono_literals;

namespace lab::the_count_outlives_the_lease {

struct reentrant {
    std::map<std::string, int> count{};

    bool lock(actor& me, const std::string& key) {
        if (count.contains(key)) return ++count[key] > 0;
        if (me.redis()({"SET", key, "", "NX", "EX", "5"}) != "OK") return false;
        count[key] = 1;
        return true;
    }
    void unlock(actor& me, const std::string& key) {
        if (--count[key] > 0) return;
        count.erase(key);
        me.redis()({"DEL", key});
    }
};

void naive(actor& me) {
    reentrant locks;
    if (!locks.lock(me, "lock:ticket")) return me.refused();
    me.holds();
    me.at("inside");
    locks.lock(me, "lock:ticket");  // the count says 2; nobody asks the server
    me.sell();
    locks.unlock(me, "lock:ticket");
    me.lets_go();
    locks.unlock(me, "lock:ticket");
}

void mended(actor& me) {
    mortise::recursive_mutex tickets{me.locks(), "ticket", {.lease = 5s, .renew = mortise::renew::off}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("inside");
    std::error_code failed;
    tickets.lock(failed);
    if (failed) {
        me.lets_go();
        me.note({"the nested lock is refused: " + failed.message(), "内层加锁被拒绝：" + failed.message()});
        return tickets.unlock();
    }
    me.sell();
    tickets.unlock();
    me.lets_go();
    tickets.unlock();
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    stage.pass(6s);
    player& b = stage.enter("B");
    b.run_to("stock read");
    a.run_to("stock read");
    b.run();
    a.run();
}

story told() {
    return {
        .name = "the-count-outlives-the-lease",
        .row = "R8",
        .documents = "S4",
        .title = {"The count outlives the lease", "计数比租期活得久"},
        .mistake = {"The count is kept in the thread; the lease ends on the server.",
                    "计数存在线程里，租期却在服务器上结束。"},
        .told = {"A's lease has ended and B is inside; A locks once more, its counter says yes, and both sell.",
                 "A 的租期已过，B 在里面；A 再次加锁，计数器说可以，两人都在卖票。"},
        .mend = {"A nested lock after the lease is refused as lost.", "租期过后的内层加锁会被拒绝：已丢失。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap, mishap::lost_update},
    };
}

}  // namespace lab::the_count_outlives_the_lease
