// M1, with an expiry and a sweeper: an expired row stays if the sweeper is dead.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/mysql/the_row.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::nobody_sweeps {

void naive(actor& me) {
    if (me.name() == "sweeper") {
        me.at("sleeps until its next turn");
        return the_row::sweep(me);
    }
    traced_sql sql{me};
    if (!the_row::take(sql, me.name())) return me.refused();
    the_row::stay(me, sql);
}

void mended(actor& me) {
    if (me.name() == "sweeper") return me.at("sleeps until its next turn");
    the_row::stay_under_ours(me);
}

void play(director& stage) {
    player& sweeper = stage.enter("sweeper");
    sweeper.run_to("sleeps until its next turn");
    player& a = stage.enter("A");
    a.run_to("inside");
    a.crash();
    sweeper.crash();
    stage.pass(1h);
    stage.enter("B").run();
}

story told() {
    return {
        .name = "nobody-sweeps",
        .row = "M1",
        .documents = "S1",
        .title = {"Nobody sweeps", "没有人清理"},
        .mistake = {"A row that has expired counts until one process, the sweeper, deletes it.",
                    "过期的行仍然有效，直到唯一的定时任务把它删掉。"},
        .told = {"The holder dies, and so does the sweeper; the row expired an hour ago, and still nobody can insert.",
                 "持有者崩溃，定时任务也崩溃；行一小时前就过期了，仍然谁也插不进去。"},
        .mend = {"Whoever asks for the lock looks at the lease itself.", "谁来加锁，谁就自己检查租期。"},
        .needs = needs::mariadb,
        .keys = {"locks"},
        .tables = the_row::table_with_expiry,
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::nobody_sweeps
