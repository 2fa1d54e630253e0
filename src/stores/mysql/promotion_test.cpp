// "A database is 100 % reliable": a replica that lags behind is promoted.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/mysql/servers/server.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using testing::eventually;
using ::testing::HasSubstr;
using testing::tcp_proxy;

constexpr const char* strategies[] = {"row", "get_lock", "for_update"};

// A primary and an asynchronous replica, which is what MariaDB calls replication unless told otherwise.
class mysql_promotion : public ::testing::Test {
protected:
    mysql_promotion() {
        primary_.run(
            "CREATE USER copies@'127.0.0.1' IDENTIFIED BY 'secret';"
            "GRANT REPLICATION SLAVE ON *.* TO copies@'127.0.0.1'");
        std::istringstream position{primary_.run("SHOW MASTER STATUS")};
        std::string file;
        std::string offset;
        position >> file >> offset;
        replica_.run("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=" + std::to_string(stream_.port()) +
                     ", MASTER_USER='copies', MASTER_PASSWORD='secret', MASTER_LOG_FILE='" + file +
                     "', MASTER_LOG_POS=" + offset + "; START SLAVE");
        database_ = primary_.fresh_url();
        database_ = database_.substr(database_.rfind('/') + 1);
    }

    // Of everybody who goes by this proxy.
    std::string url(const tcp_proxy& by, const std::string& strategy) const {
        return "mysql://mortise:secret@127.0.0.1:" + std::to_string(by.port()) + "/" + database_ +
               "?strategy=" + strategy;
    }

    bool replica_is_up_to_date() const {
        const std::string there =
            "SELECT GROUP_CONCAT(table_name, auto_increment ORDER BY 1) FROM information_schema.tables "
            "WHERE table_schema = '" +
            database_ + "'";
        try {
            return replica_.run(there) == primary_.run(there) &&
                   replica_.run("SELECT COUNT(*) FROM mortise_claims", database_) == "0";
        } catch (const std::runtime_error&) {
            return false;  // not even the table
        }
    }

    // As an operator would.
    void promote_replica() {
        stream_.cut();
        replica_.run("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0");
    }

    servers::server primary_{{"--server-id=1", "--log-bin=changes", "--binlog-format=ROW"}};
    servers::server replica_{{"--server-id=2", "--log-bin=changes", "--read-only=1"}};
    tcp_proxy stream_{primary_.port()};  // of changes
    std::string database_;
};

// The server has answered that the lock is ours, and has written it to its disk. The replica has not heard of it.
TEST_F(mysql_promotion, of_a_replica_that_lags_lets_two_in_and_repeats_tokens) {
    tcp_proxy first_way{primary_.port()};
    tcp_proxy second_way{primary_.port()};
    for (const std::string strategy : strategies) {  // tables and first tokens
        client locks{url(first_way, strategy)};
        static_cast<void>(locks.acquire("first"));
    }
    ASSERT_TRUE(eventually([&] { return replica_is_up_to_date(); }, 20s));
    stream_.freeze();

    struct owner {
        std::unique_ptr<client> locks;
        hold held;
    };
    std::vector<owner> firsts;
    for (const std::string strategy : strategies) {
        auto locks = std::make_unique<client>(url(first_way, strategy));
        hold held = locks->acquire("stock " + strategy);
        firsts.push_back({std::move(locks), std::move(held)});
    }
    first_way.freeze();  // nobody tells the first owners anything for a while
    primary_.kill();
    promote_replica();
    second_way.lead_to(replica_.port());
    second_way.cut();

    for (std::size_t i = 0; i < firsts.size(); ++i) {
        const std::string strategy = strategies[i];
        client locks{url(second_way, strategy)};
        const hold second = locks.acquire("stock " + strategy, {.wait = 5s});
        const hold& first = firsts[i].held;
        const bool both = first.valid() && second.valid();
        EXPECT_TRUE(both)
            << strategy
            << ": so the promise has become better; promises().ends and docs/choosing.md say that it ends here";
        EXPECT_LE(second.token().value(), first.token().value())
            << strategy << ": fencing would help, against what is promised";
        EXPECT_THAT(locks.promises().ends, Contains(HasSubstr("asynchronous replica"))) << strategy;
    }
    first_way.lead_to(replica_.port());
    first_way.thaw();
    first_way.cut();
    for (std::size_t i = 0; i < firsts.size(); ++i)
        EXPECT_TRUE(eventually([&] { return !firsts[i].held.valid(); }, 40s)) << strategies[i];
}

// With semi-synchronous replication nobody is told of a commit before the replica has it. So a row outlives the failover, and so do
// tokens; the locks of connections do not.
TEST_F(mysql_promotion, of_a_semi_synchronous_replica_keeps_rows_and_tokens) {
    replica_.run("SET GLOBAL rpl_semi_sync_slave_enabled = 1; STOP SLAVE IO_THREAD; START SLAVE IO_THREAD");
    primary_.run(
        "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_SYNC, GLOBAL rpl_semi_sync_master_timeout = 3600000, "
        "GLOBAL rpl_semi_sync_master_enabled = 1");
    ASSERT_TRUE(eventually(
        [&] { return primary_.run("SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'").ends_with("1"); }, 20s));
    tcp_proxy way{primary_.port()};
    client locks{url(way, "row"), {.patience = 60s}};
    hold held = locks.acquire("stock");
    const token first = held.token();

    stream_.freeze();
    client others{url(way, "row"), {.patience = 2s}};
    EXPECT_FALSE(others.try_acquire("shelf", {.wait = 3s})) << "the replica has not seen it, so nobody may be told";
    stream_.thaw();

    primary_.kill();
    ASSERT_TRUE(eventually(
        [&] { return replica_.run("SHOW SLAVE STATUS").find("has read all relay log") != std::string::npos; }, 20s));
    promote_replica();
    way.lead_to(replica_.port());
    way.cut();
    client next{url(way, "row"), {.patience = 60s}};
    const attempt busy = next.try_acquire("stock", {.wait = 1s});
    EXPECT_FALSE(busy) << "its row was lost";
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_GT(next.acquire("stock", {.wait = 20s}).token(), first);
}

}  // namespace
}  // namespace mortise::inline v0::stores::mysql
