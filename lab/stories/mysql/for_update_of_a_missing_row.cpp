// M2: SELECT ... FOR UPDATE of a row that is missing locks a gap, and two may lock the same gap.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/traced_sql.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <algorithm>

namespace lab::for_update_of_a_missing_row {

void naive(actor& me) {
    traced_sql sql{me};
    sql("START TRANSACTION");
    const bool there =
        sql.waiting("SELECT * FROM resource_lock WHERE resource_name = 'ticket' FOR UPDATE").value().has_value();
    me.at("row looked for");
    if (!there && !sql.waiting("INSERT INTO resource_lock VALUES('ticket', '" + me.name() + "')").ok())
        return me.at("rolled back");
    me.holds();
    me.at("inside");
    me.lets_go();
    sql("COMMIT");
}

void mended(actor& me) {
    mortise::mutex tickets{me.locks(), "ticket"};
    me.at("row looked for");
    me.may_wait([&] { tickets.lock(); });
    me.holds(tickets.hold());
    me.at("inside");
    me.lets_go();
    tickets.unlock();
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("row looked for");
    b.run_to("row looked for");
    a.run_to("inside");
    b.run_to({"inside", "rolled back"});
    a.await({"inside", "rolled back"});
    a.run();
    b.await("inside");
    // One of the two; which, is left to the server.
    const auto rolled_back = [](const event& each) {
        return each.kind == kind::point && each.what.en == "rolled back";
    };
    if (std::ranges::any_of(stage.so_far(), rolled_back)) stage.sees(mishap::deadlock);
}

story told() {
    return {
        .name = "for-update-of-a-missing-row",
        .row = "M2",
        .documents = "S1",
        .title = {"FOR UPDATE of a missing row", "对不存在的行 FOR UPDATE"},
        .mistake = {"Where there is no row there is nothing to lock: only a gap, which excludes nobody but inserts.",
                    "没有行就没有可锁的东西，只有间隙锁，它只挡插入，不互斥。"},
        .told = {"A and B both find no row and both insert it: each waits for the other's gap, and one is rolled back.",
                 "A 和 B 都没查到行，都去插入：互相等对方的间隙锁，其中一个被回滚。"},
        .mend = {"strategy=for_update makes the row first, committed, and then locks it.",
                 "strategy=for_update 先提交插入的行，再锁住它。"},
        .needs = needs::mariadb,
        .keys = {"resource_lock"},
        .tables = "CREATE TABLE resource_lock(resource_name VARCHAR(64) PRIMARY KEY, owner VARCHAR(64)) ENGINE=InnoDB",
        .options = "strategy=for_update&session=600s",
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::deadlock},
    };
}

}  // namespace lab::for_update_of_a_missing_row
