// M1, with an expiry and a sweeper: DELETE deletes whatever row is there.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/mysql/the_row.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::a_late_delete {

void naive(actor& me) {
    if (me.name() == "sweeper") return the_row::sweep(me);
    traced_sql sql{me};
    if (!the_row::take(sql, me.name())) return me.refused();
    me.holds();
    me.at("inside");
    me.lets_go();
    me.at("before the DELETE");
    the_row::free(sql);
}

void mended(actor& me) {
    if (me.name() == "sweeper") return me.note({"has nothing to do", "无事可做"});
    mortise::mutex tickets{me.locks(), "ticket", {.lease = the_row::lease}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("inside");
    me.lets_go();
    me.at("before the DELETE");
    tickets.unlock();
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("before the DELETE");
    a.stop();
    stage.pass(11min);
    stage.enter("sweeper").run();
    player& b = stage.enter("B");
    b.run_to("inside");
    a.resume();
    a.run();
    player& c = stage.enter("C");
    c.run_to("inside");
    b.run();
    c.await("inside");
}

story told() {
    return {
        .name = "a-late-delete",
        .row = "M1",
        .documents = "S1",
        .title = {"A late DELETE", "迟到的 DELETE"},
        .mistake = {"DELETE does not ask whose row it deletes.", "DELETE 不问行是谁的。"},
        .told = {"A is slow, the sweeper deletes its row, B inserts its own; A's DELETE deletes B's row, and C enters.",
                 "A 太慢，定时任务删掉了它的行，B 插入自己的行；A 的 DELETE 删掉 B 的行，C 进来。"},
        .mend = {"A release names its claim: it can only end that one.", "释放时带上自己的标识，只能释放自己的锁。"},
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

}  // namespace lab::a_late_delete
