// M1, with an expiry and a sweeper: the sweeper cannot tell a slow holder from a dead one.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/mysql/the_row.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::the_sweeper_and_a_slow_holder {

void naive(actor& me) {
    if (me.name() == "sweeper") return the_row::sweep(me);
    traced_sql sql{me};
    if (!the_row::take(sql, me.name())) return me.refused();
    the_row::stay(me, sql);
}

void mended(actor& me) {
    if (me.name() == "sweeper") return me.note({"has nothing to do", "无事可做"});
    the_row::stay_under_ours(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    stage.pass(11min);
    stage.enter("sweeper").run();
    player& b = stage.enter("B");
    b.run_to("inside");
    a.run();
    b.await("inside");
}

story told() {
    return {
        .name = "the-sweeper-and-a-slow-holder",
        .row = "M1",
        .documents = "S1",
        .title = {"The sweeper and a slow holder", "定时任务与缓慢的持有者"},
        .mistake = {"The expiry is set once, and nobody prolongs it.", "过期时间只设一次，没有人续期。"},
        .told = {"A works longer than its row may live; the sweeper deletes the row, and B enters while A is inside.",
                 "A 的工作超过了过期时间；定时任务删掉它的行，B 在 A 还在里面时进来。"},
        .mend = {"The lease is renewed as long as its holder lives.", "只要持有者活着，租期就会自动续期。"},
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

}  // namespace lab::the_sweeper_and_a_slow_holder
