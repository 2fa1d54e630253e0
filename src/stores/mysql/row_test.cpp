// Claims as rows: what every server stands, on MariaDB; and what only this one can do to them.
#include "stores/mysql/servers/server.hpp"
#include "stores/sql/servers/row_suite.hpp"
#include "support/waiting.hpp"

#include <mortise/mortise.hpp>

#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace mortise::stores::mysql::servers {
namespace {

using namespace std::chrono_literals;
using mortise::testing::eventually;
using ::testing::HasSubstr;

class rows_on_mariadb : public ::testing::Test {
protected:
    class host final : public sql::servers::row_host {
    public:
        std::uint16_t port() const override { return server_->port(); }
        std::string url(std::uint16_t port, const std::string& more) const override {
            return "mysql://mortise:secret@127.0.0.1:" + std::to_string(port) + "/" + database_ +
                   (more.empty() ? "" : "?" + more);
        }
        using row_host::url;
        std::size_t count(const std::string& where) const override {
            if (server_->run("SHOW TABLES LIKE 'mortise_claims'", database_).empty()) return 0;
            return std::stoul(server_->run("SELECT COUNT(*) FROM mortise_claims WHERE " + where, database_));
        }
        // Those that tell that a client lives.
        std::size_t sessions() const override {
            std::size_t alive = 0;
            std::istringstream all{server_->run("SELECT DISTINCT session FROM mortise_claims", database_)};
            for (std::string one; all >> one;)
                if (server_->run("SELECT IS_USED_LOCK(CONCAT('mortise.', HEX(" + one + ")))") != "NULL") ++alive;
            return alive;
        }
        void end_sessions() const override {
            std::istringstream all{
                server_->run("SELECT id FROM information_schema.processlist WHERE user = 'mortise'")};
            for (std::string one; all >> one;) {
                try {
                    server_->run("KILL " + one);
                } catch (const std::runtime_error&) {  // it has gone
                }
            }
        }
        std::vector<spi::stored_claim> records() const override {
            std::vector<spi::stored_claim> all;
            if (server_->run("SHOW TABLES LIKE 'mortise_claims'", database_).empty()) return all;
            std::istringstream rows{
                server_->run("SELECT HEX(id), confirmed, seq, name FROM mortise_claims", database_)};
            for (std::string row; std::getline(rows, row);) all.push_back(sql::servers::record_in(row));
            return all;
        }
        std::string url_of_another_user() const override {
            server_->run("CREATE OR REPLACE USER other@'%' IDENTIFIED BY 'other'");
            return server_->url_of(database_, "other:other");
        }
        void administer(const std::string& statements) const override { server_->run(statements); }
        void crash_and_restart() override {
            server_->kill();
            server_->restart();
        }

        std::uint64_t statements() const override {
            return std::stoull(server_->run(
                "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'QUESTIONS'"));
        }
        std::size_t connections() const override {
            return std::stoul(
                server_->run("SELECT COUNT(*) FROM information_schema.processlist WHERE db = '" + database_ + "'"));
        }
        std::size_t connections_of_a_client() const override { return 2; }  // one waits
        double polls_a_second() const override { return 4; }

    private:
        static std::string fresh() {
            const std::string url = server_->fresh_url();
            return url.substr(url.rfind('/') + 1);
        }
        const std::string database_ = fresh();
    };

    static void SetUpTestSuite() { server_ = std::make_unique<server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    inline static std::unique_ptr<server> server_;
    const std::unique_ptr<sql::servers::row_host> host_ = std::make_unique<host>();
};

}  // namespace
}  // namespace mortise::stores::mysql::servers
namespace mortise::stores::sql::servers {
INSTANTIATE_TYPED_TEST_SUITE_P(mariadb, row_suite, ::testing::Types<mysql::servers::rows_on_mariadb>);
}
namespace mortise::stores::mysql::servers {
namespace {

class mysql_row : public rows_on_mariadb {};

TEST_F(mysql_row, says_what_is_wrong) {
    const std::string address = server_->fresh_url();
    const std::string database = address.substr(address.rfind('/') + 1);
    const auto complaint = [](const std::string& url) {
        client locks{url, {.patience = 2s}};
        const attempt got = locks.try_acquire("n", {.wait = 5s});
        return got ? std::string("granted") : got.refusal().describe();
    };
    EXPECT_EQ(complaint(address), "granted");
    server_->run("CREATE USER IF NOT EXISTS poor@'127.0.0.1' IDENTIFIED BY 'poor'; GRANT SELECT ON " + database +
                 ".* TO poor@'127.0.0.1'");
    EXPECT_THAT(complaint(server_->url_of(database, "poor:poor")), HasSubstr("denied"));
    server_->run("SET GLOBAL read_only = 1");
    EXPECT_THAT(complaint(address), HasSubstr("1290"));
    server_->run("SET GLOBAL read_only = 0");
    EXPECT_EQ(complaint(address), "granted");
    server_->run("DROP TABLE mortise_claims; CREATE TABLE mortise_claims (x INT)", database);
    EXPECT_THAT(complaint(address), HasSubstr("is not ours"));
}

// The directory of the database is a disk of its own.
TEST(mysql_full_disk, is_named_and_nothing_is_lost) {
    testing::small_disk disk;
    if (!disk.permitted()) GTEST_SKIP() << "only root may mount a small disk";
    server node;
    const std::string address = node.fresh_url();
    const std::string database = address.substr(address.rfind('/') + 1);
    disk.mount_at(node.home() / ("data/" + database), 12);
    sql::servers::survives_a_full_disk(address, disk, "1114");
}

TEST_F(mysql_row, needs_two_connections_however_many_wait) {
    const std::string address = server_->fresh_url();
    client locks{address};
    client many{address};
    hold mine = locks.acquire("n");
    std::vector<std::thread> waiters;
    std::vector<hold> held;
    for (int i = 0; i < 10; ++i) held.push_back(locks.acquire("n" + std::to_string(i)));
    for (int i = 0; i < 10; ++i) {
        waiters.emplace_back([&] { EXPECT_TRUE(many.acquire("n", {.order = order::fifo}).valid()); });
        waiters.emplace_back([&, i] { EXPECT_TRUE(many.acquire("n" + std::to_string(i)).valid()); });
    }
    EXPECT_TRUE(eventually([&] { return many.list().at(0).waiting == 10; }));
    EXPECT_LE(std::stoi(server_->run(
                  "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'mortise' AND db = '" +
                  address.substr(address.rfind('/') + 1, address.find('?') - address.rfind('/') - 1) + "'")),
              3);
    held.clear();
    EXPECT_EQ(mine.release(), release_result::released);
    for (std::thread& one : waiters) one.join();
}

// Where connections are scarce: its claims are asked for, all in one statement.
TEST_F(mysql_row, needs_one_connection_if_it_is_not_to_be_woken) {
    const std::string url = host_->url(host_->port(), "wait_connections=0");
    const sql::servers::two_hundred_waiters got{*host_, url, 4};
    EXPECT_EQ(got.connections, sql::servers::two_hundred_waiters::processes);
    EXPECT_FALSE(client{url}.promises().pushes);
}

}  // namespace
}  // namespace mortise::stores::mysql::servers
