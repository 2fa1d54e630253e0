// S4's Java, as printed: refs.put is never reached, so unlock knows of no lock.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <map>
#include <string>

using namespace std::chrono_literals;

namespace lab::unlock_never_deletes {

struct reentrant {
    std::map<std::string, int> refs{};

    bool lock(actor& me, const std::string& key) {
        if (refs.contains(key)) return ++refs[key] > 0;
        if (me.redis()({"SET", key, "", "NX", "EX", "5"}) != "OK") return false;
        return true;
        // refs.put(key, 1) is never reached
    }
    bool unlock(actor& me, const std::string& key) {
        if (!refs.contains(key)) return false;
        if (--refs[key] > 0) return true;
        refs.erase(key);
        me.redis()({"DEL", key});
        return true;
    }
};

void naive(actor& me) {
    reentrant locks;
    if (!locks.lock(me, "lock:ticket")) return me.refused();
    me.holds();
    me.sell();
    me.lets_go();
    if (!locks.unlock(me, "lock:ticket")) me.note({"unlock says that there is no lock", "unlock 说没有这把锁"});
}

void mended(actor& me) {
    sell_under_our_mutex(me);
}

void play(director& stage) {
    stage.enter("A").run();
    stage.pass(4s);
    stage.enter("B").run();
}

story told() {
    return {
        .name = "unlock-never-deletes",
        .row = "R8",
        .documents = "S4",
        .title = {"unlock never deletes", "unlock 从不删除"},
        .mistake = {"`return true` stands before `refs.put(key, 1)`.",
                    "`return true` 写在了 `refs.put(key, 1)` 之前。"},
        .told = {"A has finished, but its lock stays until the lease ends; B is refused although nobody holds it.",
                 "A 已经做完，锁却留到租期结束；没有人持锁，B 仍被拒绝。"},
        .mend = {"unlock() releases what lock() took.", "lock() 拿到的，unlock() 一定释放。"},
        .keys = {"lock:ticket"},
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::unlock_never_deletes
