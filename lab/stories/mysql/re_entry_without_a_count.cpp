// M1, with an owner column: the same owner may come in again, but nobody counts how often.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/mysql/the_row.hpp"
#include "lab/story.hpp"

#include <mortise/recursive_mutex.hpp>

#include <mutex>

namespace lab::re_entry_without_a_count {

bool lock(traced_sql& sql, const std::string& me) {
    if (sql("SELECT owner FROM locks WHERE lock_name = 'ticket'").value() == me) return true;
    return sql("INSERT INTO locks VALUES('ticket', '" + me + "')").ok();
}

void naive(actor& me) {
    const std::string owner = "host-1:thread-" + me.name();
    traced_sql sql{me};
    if (!lock(sql, owner)) return me.refused();
    me.holds();
    if (lock(sql, owner)) the_row::free(sql);  // method B, called by method A
    me.at("method A goes on");
    me.lets_go();
    the_row::free(sql);
}

void mended(actor& me) {
    mortise::recursive_mutex tickets{me.locks(), "ticket", {.lease = the_row::lease}};
    tickets.lock();
    me.holds(tickets.hold());
    {
        std::scoped_lock method_b{tickets};
        me.at("inside twice");
    }
    me.at("method A goes on");
    me.lets_go();
    tickets.unlock();
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("method A goes on");
    player& b = stage.enter("B");
    b.run_to("method A goes on");
    a.run();
    b.await("method A goes on");
}

story told() {
    return {
        .name = "re-entry-without-a-count",
        .row = "M1",
        .documents = "S1",
        .title = {"Re-entry without a count", "没有计数的重入"},
        .mistake = {"The row says whose it is, but not how often it was taken.",
                    "行里记了持有者，却没有记加锁的次数。"},
        .told = {"Method A locks and calls method B, which locks again; B's DELETE frees A's row too.",
                 "方法 A 加锁后调用方法 B，B 再次加锁；B 的 DELETE 把 A 的行也删掉了。"},
        .mend = {"recursive_mutex counts, and frees at zero.", "recursive_mutex 会计数，到零才释放。"},
        .needs = needs::mariadb,
        .keys = {"locks"},
        .tables = the_row::table_with_owner,
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::overlap},
    };
}

}  // namespace lab::re_entry_without_a_count
