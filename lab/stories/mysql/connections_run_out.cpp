// M2: each request that waits for the row has a connection meanwhile, until there are none.
#include "lab/stage/actor.hpp"
#include "lab/stage/director.hpp"
#include "lab/stage/traced_sql.hpp"
#include "lab/stories/mysql/the_row.hpp"
#include "lab/story.hpp"

#include <list>
#include <thread>

namespace lab::connections_run_out {
namespace {

constexpr int requests = 5;

// A request that needs no lock, only a connection.
void look(actor& me) try {
    traced_sql sql{me};
    sql("SELECT n FROM ticket");
} catch (const sql_error& refused) {
    me.note({"gets no connection (error " + std::to_string(refused.number) + ")",
             "得不到连接（错误 " + std::to_string(refused.number) + "）"});
    me.at("no connection");
}

}  // namespace

void naive(actor& me) {
    if (me.name() == "C") return look(me);
    std::list<traced_sql> pool;
    const int count = me.name() == "A" ? 1 : requests;
    for (int i = 0; i < count; ++i) {
        traced_sql& sql = pool.emplace_back(me);
        sql("START TRANSACTION");
        const char* lock = "SELECT * FROM resource_lock WHERE resource_name = 'ticket' FOR UPDATE";
        if (me.name() == "A")
            sql(lock);
        else
            sql.send(lock);
    }
    if (me.name() == "A") me.holds();
    me.at(me.name() == "A" ? "inside" : "all wait");
}

void mended(actor& me) {
    if (me.name() == "C") return look(me);
    if (me.name() == "A") {
        mortise::hold held = me.locks().acquire("ticket", {.lease = the_row::lease});
        me.holds(held);
        return me.at("inside");
    }
    mortise::client& locks = me.locks();
    std::list<std::jthread> all;
    for (int i = 0; i < requests; ++i)
        all.emplace_back([&] { static_cast<void>(locks.acquire("ticket", {.lease = the_row::lease})); });
}

void play(director& stage) {
    player& a = stage.enter("A");
    a.run_to("inside");
    player& b = stage.enter("B");
    b.run_to("all wait");
    if (stage.enter("C").run_to("no connection")) stage.sees(mishap::exhausted);
}

story told() {
    return {
        .name = "connections-run-out",
        .row = "M2",
        .documents = "S1",
        .title = {"Connections run out", "连接爆满"},
        .mistake = {"Whoever waits for the lock waits inside the database, with a connection of its own.",
                    "每个等锁的请求都占着一个数据库连接。"},
        .told = {"A holds the lock and five requests wait; the service has six connections, and C gets none, though "
                 "it needs no lock.",
                 "A 持锁，五个请求在等；服务一共六个连接，C 不需要锁，也得不到连接。"},
        .mend = {"strategy=row: a client has two connections, however many of its requests wait.",
                 "strategy=row：无论多少请求在等，一个客户端只用两个连接。"},
        .needs = needs::mariadb,
        .tables =
            "CREATE TABLE resource_lock(resource_name VARCHAR(64) PRIMARY KEY, owner VARCHAR(64)) ENGINE=InnoDB; "
            "INSERT INTO resource_lock VALUES('ticket', 'ip'); "
            "CREATE TABLE ticket(n INT) ENGINE=InnoDB; INSERT INTO ticket VALUES(20); "
            "CREATE OR REPLACE USER service@'127.0.0.1' IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 6; "
            "GRANT ALL ON t.* TO service@'127.0.0.1'",
        .user = "service",
        .stock = 0,
        .naive = naive,
        .mended = mended,
        .play = play,
        .ends_in = {mishap::exhausted},
    };
}

}  // namespace lab::connections_run_out
