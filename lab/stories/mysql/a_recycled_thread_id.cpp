// M1, with an owner column: whoever gets the thread id of a dead holder gets its row, and what is left of its time.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/mysql/the_row.hpp"
#include "lab/story.hpp"

#include <mortise/recursive_mutex.hpp>

using namespace std::chrono_literals;

namespace lab::a_recycled_thread_id {

void naive(actor& me) {
    if (me.name() == "sweeper") return the_row::sweep(me);
    const std::string owner =
        me.name() == "C" ? "host-1:thread-8" : "host-1:thread-7";  // A's and, once it is dead, B's
    traced_sql sql{me};
    const bool again = sql("SELECT owner FROM locks WHERE lock_name = 'ticket'").value() == owner;
    if (again) me.note({"takes A's row for its own", "把 A 的行当成自己的"});
    if (!again && !the_row::take(sql, owner)) return me.refused();
    the_row::stay(me, sql);
}

void mended(actor& me) {
    if (me.name() == "sweeper") return me.note({"has nothing to do", "无事可做"});
    the_row::stay_under_ours<mortise::recursive_mutex>(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    a.crash();
    stage.tell({"the service starts again, and thread 7 is B now", "服务重启，线程 7 现在是 B"});
    stage.pass(8min);
    player& b = stage.enter("B");
    b.run_to("inside");
    stage.pass(3min);
    stage.enter("sweeper").run();
    player& c = stage.enter("C");
    c.run_to("inside");
    b.run();
    c.await("inside");
}

story told() {
    return {
        .name = "a-recycled-thread-id",
        .row = "M1",
        .documents = "S1",
        .title = {"A recycled thread id", "被回收的线程 id"},
        .mistake = {"Host and thread are taken for an owner, but a thread id is used again.",
                    "把主机和线程当作持有者，而线程 id 会被重复使用。"},
        .told = {"A dies; B gets its thread id and finds \"its own\" row, with two minutes left; then C enters.",
                 "A 崩溃；B 得到同样的线程 id，看到“自己的”行，只剩两分钟；随后 C 也进来了。"},
        .mend = {"A claim has 128 random bits and a lease of its own.", "每次加锁都有自己的 128 位随机标识和租期。"},
        .needs = needs::mariadb,
        .keys = {"locks"},
        .tables = the_row::table_with_expiry,
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::a_recycled_thread_id
