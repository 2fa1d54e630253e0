// M2: the lock belongs to a connection; whoever comes in again on another waits for itself.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/servers.hpp"
#include "lab/stage/traced_sql.hpp"
#include "lab/stories/ours.hpp"
#include "lab/story.hpp"

#include <mortise/recursive_mutex.hpp>

#include <mutex>

namespace lab::for_update_inside_for_update {

void naive(actor& me) {
    const auto lock = [](traced_sql& sql) {
        sql("START TRANSACTION");
        sql.waiting("SELECT * FROM resource_lock WHERE resource_name = 'ticket' FOR UPDATE");
    };
    traced_sql method_a{me};
    lock(method_a);
    me.holds();
    traced_sql method_b{me};  // the pool hands out another connection
    lock(method_b);
    me.lets_go();
    method_b("COMMIT");
    method_a("COMMIT");
}

void mended(actor& me) {
    mortise::recursive_mutex tickets{me.locks(), "ticket"};
    std::scoped_lock method_a{tickets};
    me.holds(tickets.hold());
    {
        std::scoped_lock method_b{tickets};
        me.at("inside twice");
    }
    me.at("method A goes on");
    me.lets_go();
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run();
    // A store of ours that looks while a slow server still takes the row for it believes for a moment that somebody has it.
    if (a.waits() && stage.servers().lock_waits() == 0) a.await({});
    if (a.waits()) stage.sees(mishap::hangs);
}

story told() {
    return {
        .name = "for-update-inside-for-update",
        .row = "M2",
        .documents = "S1",
        .title = {"FOR UPDATE inside FOR UPDATE", "FOR UPDATE 里再 FOR UPDATE"},
        .mistake = {"The row is locked by a connection, not by its caller.", "锁住行的是连接，不是调用者。"},
        .told = {"Method A locks the row and calls method B, which has another connection and waits for A's: 50 s.",
                 "方法 A 锁住行后调用方法 B，B 用另一个连接等待 A 的锁：默认 50 秒。"},
        .mend = {"recursive_mutex counts; it asks the server once.",
                 "recursive_mutex 在客户端计数，只向服务器要一次锁。"},
        .needs = needs::mariadb,
        .keys = {"resource_lock"},
        .tables =
            "CREATE TABLE resource_lock(resource_name VARCHAR(64) PRIMARY KEY, owner VARCHAR(64)) ENGINE=InnoDB; "
            "INSERT INTO resource_lock VALUES('ticket', 'ip')",
        .options = "strategy=for_update&session=600s",
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::hangs},
    };
}

}  // namespace lab::for_update_inside_for_update
