// M3: a version column. At first use there is no row, so there is no version that could have changed.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/traced_sql.hpp"
#include "lab/stories/mysql/sale.hpp"
#include "lab/story.hpp"

namespace lab::a_version_without_a_row {

void naive(actor& me) {
    traced_sql sql{me};
    sql("START TRANSACTION");
    const auto found = sql("SELECT version FROM resource_lock WHERE resource_name = 'ticket'").value();
    me.at("row looked for");
    if (!found) sql("INSERT INTO resource_lock VALUES('ticket', '" + me.name() + "', 1)");
    sale::sell(sql);
    const sql_answer updated =
        sql("UPDATE resource_lock SET version = version + 1 WHERE resource_name = 'ticket' AND version = " +
            found.value_or("1"));
    if (updated.changed != 1) {
        sql("ROLLBACK");
        return me.refused();
    }
    sql("COMMIT");
    me.sold();
}

void mended(actor& me) {
    traced_sql sql{me};
    mortise::sql::change_if_unchanged(sql.get(), "ticket", [&](st_mysql*, std::uint64_t) {
        me.at("row looked for");
        sale::sell(sql);
    });
    me.sold();
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("row looked for");
    b.run_to("row looked for");
    a.run();
    b.run();
}

story told() {
    return {
        .name = "a-version-without-a-row",
        .row = "M3",
        .documents = "S1",
        .title = {"A version without a row", "没有行的版本号"},
        .mistake = {"Without a row there is no version to compare, and each makes its own.",
                    "没有行就没有版本号可比，于是各自插入一行。"},
        .told =
            {"A and B both find no row, insert one each and update \"their\" version: both commit, and a sale is lost.",
             "A 和 B 都没查到行，各插入一行，各自更新“自己的”版本：都提交了，丢了一次更新。"},
        .mend = {"change_if_unchanged makes the row first, committed; B's version has changed, and it sells again.",
                 "change_if_unchanged 先提交一行；B 发现版本变了，重新来过。"},
        .needs = needs::mariadb,
        .keys = {"resource_lock", "ticket"},
        .tables = "CREATE TABLE resource_lock(resource_name VARCHAR(64), owner VARCHAR(64), version INT) ENGINE=InnoDB",
        .naive = naive,
        .mended = mended,
        .play = play,
        .mend_locks = false,
        .ends_in = {mishap::lost_update},
    };
}

}  // namespace lab::a_version_without_a_row
