// M3: a version column. Everybody does the work, and all but one throw it away: not what has left the database.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/traced_sql.hpp"
#include "lab/stories/mysql/sale.hpp"
#include "lab/story.hpp"

namespace lab::the_losers_mail {

void send_mail(actor& me) {
    me.worked({"sends the mail: the last ticket is yours", "发出邮件：最后一张票归您"});
}

void naive(actor& me) {
    traced_sql sql{me};
    sql("START TRANSACTION");
    const auto version = sql("SELECT version FROM resource_lock WHERE resource_name = 'ticket'").value().value_or("");
    if (sql("SELECT n FROM ticket").value() == "0") return me.note({"sold out", "已售完"});
    me.at("version read");
    send_mail(me);
    const sql_answer updated =
        sql("UPDATE resource_lock SET version = version + 1 WHERE resource_name = 'ticket' AND version = " + version);
    if (updated.changed != 1) {
        sql("ROLLBACK");
        return me.note({"rolls back, but the mail is on its way", "回滚了，但邮件已经发出"});
    }
    sql("UPDATE ticket SET n = n - 1");
    sql("COMMIT");
    me.sold();
}

void mended(actor& me) {
    traced_sql sql{me};
    bool mine = false;
    mortise::sql::change_if_unchanged(sql.get(), "ticket", [&](st_mysql*, std::uint64_t) {
        me.at("version read");
        mine = sale::sell(sql);
    });
    if (!mine) return me.note({"sold out", "已售完"});
    me.sold();
    send_mail(me);
}

void play(director& stage) {
    player& a = stage.enter("A");
    player& b = stage.enter("B");
    a.run_to("version read");
    b.run_to("version read");
    a.run();
    b.run();
}

story told() {
    return {
        .name = "the-losers-mail",
        .row = "M3",
        .documents = "S1",
        .title = {"The loser's mail", "失败者发出的邮件"},
        .mistake = {"The work is done before it is known who has won.", "还不知道谁赢，就先做了业务。"},
        .told = {"A and B both mail that the last ticket is theirs; then B's update fails and is rolled back, but its "
                 "mail is not.",
                 "A 和 B 都发出“最后一张票归您”的邮件；B 更新失败，事务回滚，邮件却收不回来。"},
        .mend = {"What leaves the database is done after the commit; what loses is done anew from what it finds then.",
                 "离开数据库的动作放到提交之后；失败者按新的数据重来。"},
        .needs = needs::mariadb,
        .keys = {"resource_lock", "ticket"},
        .tables =
            "CREATE TABLE resource_lock(resource_name VARCHAR(64) PRIMARY KEY, version INT) ENGINE=InnoDB; "
            "INSERT INTO resource_lock VALUES('ticket', 1)",
        .stock = 1,
        .naive = naive,
        .mended = mended,
        .play = play,
        .mend_locks = false,
        .ends_in = {mishap::repeated},
    };
}

}  // namespace lab::the_losers_mail
