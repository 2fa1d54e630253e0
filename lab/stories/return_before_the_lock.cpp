// S4's Python, as printed: `return True` stands before the lock.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/stories/schedules.hpp"
#include "lab/story.hpp"

#include <map>
#include <string>

namespace lab::return_before_the_lock {

struct counter {
    std::map<std::string, int> locks{};

    bool lock(const std::string& key) {
        if (locks.contains(key)) ++locks[key];
        return true;
        // ok = _lock(client, key) is never reached
    }
};

void naive(actor& me) {
    counter mine;
    if (!mine.lock("lock:ticket")) return me.refused();
    me.holds();
    me.sell();
    me.lets_go();
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    two_sell_at_once(stage, "A", "B");
}

story told() {
    return {
        .name = "return-before-the-lock",
        .row = "R8",
        .documents = "S4",
        .title = {"return before the lock", "加锁之前就 return"},
        .mistake = {"`return True` has lost its indentation and stands before the lock.",
                    "`return True` 缩进错误，写在了加锁之前。"},
        .told = {"Every call says that it has the lock, and no command is ever sent.",
                 "每次调用都返回加锁成功，却一条命令也没有发出。"},
        .mend = {"lock() either has it or throws.", "lock() 要么拿到锁，要么抛出异常。"},
        .keys = {"ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap, mishap::lost_update},
    };
}

}  // namespace lab::return_before_the_lock
