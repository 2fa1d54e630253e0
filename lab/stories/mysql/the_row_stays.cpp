// M1: INSERT takes, DELETE frees. Nobody deletes the row of a holder that died.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stories/mysql/the_row.hpp"
#include "lab/story.hpp"

using namespace std::chrono_literals;

namespace lab::the_row_stays {

void naive(actor& me) {
    traced_sql sql{me};
    if (!sql("INSERT INTO locks VALUES('ticket')").ok()) return me.refused();
    the_row::stay(me, sql);
}

void mended(actor& me) {
    the_row::stay_under_ours(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    a.crash();
    stage.pass(1h);
    stage.enter("B").run();
}

story told() {
    return {
        .name = "the-row-stays",
        .row = "M1",
        .documents = "S1",
        .title = {"The row stays", "行留了下来"},
        .mistake = {"The row has no expiry, and only its holder deletes it.", "行没有过期时间，只有持有者会删除它。"},
        .told = {"A inserts the row and dies; every INSERT after it fails: duplicate key.",
                 "A 插入行后崩溃；之后的每次 INSERT 都失败：重复的键。"},
        .mend = {"strategy=row: every grant has a lease; it ends with it.",
                 "strategy=row：每次授予都有租期，到期自动结束。"},
        .needs = needs::mariadb,
        .keys = {"locks"},
        .tables = the_row::table,
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::stuck},
    };
}

}  // namespace lab::the_row_stays
