// Claims as rows: what only PostgreSQL can do to them.
#include "stores/postgres/servers/server.hpp"
#include "stores/sql/servers/row_suite.hpp"
#include "support/turns.hpp"
#include "support/waiting.hpp"

#include <mortise/mortise.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace mortise::stores::postgres::servers {
namespace {

using namespace std::chrono_literals;
using mortise::testing::eventually;
using mortise::testing::once;
using mortise::testing::once_reading;

class rows_on_postgres : public ::testing::Test {
protected:
    class host final : public sql::servers::row_host {
    public:
        std::uint16_t port() const override { return server_->port(); }
        std::string url(std::uint16_t port, const std::string& more) const override {
            return server_->url("schema=" + schema_ + (more.empty() ? "" : "&" + more), port);
        }
        using row_host::url;
        std::size_t count(const std::string& where) const override {
            auto console = server_->open_console();
            if (console.ask("SELECT to_regclass('" + schema_ + ".row_claims')").empty()) return 0;
            return std::stoul(console.ask("SELECT count(*) FROM " + schema_ + ".row_claims WHERE " + where));
        }
        std::size_t sessions() const override {
            return std::stoul(server_->open_console().ask("SELECT count(*) FROM pg_stat_activity WHERE " + ours));
        }
        void end_sessions() const override {
            server_->open_console().ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE " + ours);
        }
        std::vector<spi::stored_claim> records() const override {
            std::vector<spi::stored_claim> all;
            if (count("true") == 0) return all;
            for (const std::string& row : server_->open_console().column(
                     "SELECT concat_ws(' ', encode(id, 'hex'), confirmed, seq, convert_from(name, 'UTF8')) FROM " +
                     schema_ + ".row_claims"))
                all.push_back(sql::servers::record_in(row));
            return all;
        }
        std::string url_of_another_user() const override {
            server_->open_console().ask("CREATE ROLE other_" + schema_ + " LOGIN PASSWORD 'secret'");
            std::string theirs = url();
            return theirs.replace(theirs.find("postgres:secret@"), 9, "other_" + schema_ + ":");
        }
        void administer(const std::string& statements) const override { server_->open_console().ask(statements); }
        void crash_and_restart() override {
            server_->kill();
            server_->start();
        }

        std::uint64_t statements() const override {
            return std::stoull(server_->open_console().ask(
                "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE schemaname = '" + schema_ +
                "' AND funcname = ANY (ARRAY['row_enter', 'row_look', 'row_confirm', 'row_leave', 'row_move', "
                "'row_renew', "
                "'row_beat', 'row_overdue', 'row_sweep'])"));
        }
        std::size_t connections() const override { return sessions(); }
        std::size_t connections_of_a_client() const override { return 1; }
        double polls_a_second() const override { return 3; }

    private:
        inline static const std::string ours = "application_name = 'mortise row'";
        inline static int made_ = 0;
        const std::string schema_ = "suite" + std::to_string(++made_);
    };

    // Transactions do not tell: each session makes one for every NOTIFY to any of them.
    static void SetUpTestSuite() { server_ = std::make_unique<server>(server::setup{.more = {"track_functions=pl"}}); }
    static void TearDownTestSuite() { server_.reset(); }

    inline static std::unique_ptr<server> server_;
    const std::unique_ptr<sql::servers::row_host> host_ = std::make_unique<host>();
};

}  // namespace
}  // namespace mortise::stores::postgres::servers
namespace mortise::stores::sql::servers {
INSTANTIATE_TYPED_TEST_SUITE_P(postgres, row_suite, ::testing::Types<postgres::servers::rows_on_postgres>);
}
namespace mortise::stores::postgres::servers {
namespace {

class postgres_row : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    std::string url() const { return server_->url("schema=" + schema_); }
    std::string ask(const std::string& statement) const { return server_->open_console().ask(statement); }
    std::string waiting() const { return ask("SELECT count(*) FROM " + schema_ + ".row_claims WHERE confirmed = 0"); }

    inline static std::unique_ptr<server> server_;
    inline static int made_ = 0;
    const std::string schema_ = "row" + std::to_string(++made_);
};

TEST_F(postgres_row, a_client_has_one_connection_however_many_wait) {
    client locks{url()};
    client many{url()};
    hold mine = locks.acquire("n");
    std::vector<std::thread> waiters;
    for (int i = 0; i < 20; ++i)
        waiters.emplace_back([&, i] { EXPECT_TRUE(many.acquire("n" + std::to_string(i % 5)).valid()); });
    std::vector<std::thread> more;
    for (int i = 0; i < 5; ++i) more.emplace_back([&] { EXPECT_TRUE(many.acquire("n").valid()); });
    EXPECT_TRUE(eventually([&] { return waiting() != "0"; }));
    EXPECT_EQ(ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'mortise row'"), "2");
    EXPECT_EQ(mine.release(), release_result::released);
    for (std::thread& one : waiters) one.join();
    for (std::thread& one : more) one.join();
}

TEST_F(postgres_row, a_lock_that_is_kept_costs_nothing_while_nobody_else_asks) {
    client locks{url()};
    mutex m{locks, "n", {.lease = 10min, .keep = keep::idle(60s)}};
    const token first = once(m);
    const std::string row = "SELECT concat_ws(' ', xmin, confirmed) FROM " + schema_ + ".row_claims";
    const std::string written = ask(row);
    EXPECT_THAT(written, ::testing::EndsWith(" 3"));
    for (std::uint64_t turn = 1; turn <= 500; ++turn) EXPECT_EQ(once(m), token::of(first.counter(), turn));
    EXPECT_EQ(ask(row), written);
}

TEST_F(postgres_row, reads_that_are_kept_cost_nothing_while_nobody_writes) {
    client locks{url()};
    client others{url()};
    const claim_options kept_long{.lease = 10min, .keep = keep::idle(60s)};
    shared_mutex ours{locks, "n", kept_long};
    shared_mutex theirs{others, "n", kept_long};
    const token mine = once_reading(ours);
    const token his = once_reading(theirs);
    const std::string rows = "SELECT string_agg(concat_ws(' ', xmin, confirmed), ', ') FROM " + schema_ + ".row_claims";
    const std::string written = ask(rows);
    for (std::uint64_t turn = 1; turn <= 500; ++turn) {
        EXPECT_EQ(once_reading(ours), token::of(mine.counter(), turn));
        EXPECT_EQ(once_reading(theirs), token::of(his.counter(), turn));
    }
    EXPECT_EQ(ask(rows), written);
    EXPECT_TRUE(theirs.try_lock_for(30s)) << "both have heard of it";
    theirs.unlock();
}

TEST_F(postgres_row, a_schema_without_routines_for_kept_locks_is_made_anew) {
    EXPECT_TRUE(client{url()}.try_acquire("n"));
    ask("DROP FUNCTION " + schema_ + ".row_enter_keeping");
    client locks{url()};
    mutex m{locks, "n", {.keep = keep::idle(60s)}};
    once(m);
    EXPECT_EQ(ask("SELECT confirmed FROM " + schema_ + ".row_claims"), "3");
}

TEST_F(postgres_row, a_lock_that_is_kept_survives_that_the_connection_breaks) {
    client locks{url()};
    client other{url()};
    mutex m{locks, "n", {.lease = 10min, .keep = keep::idle(60s)}};
    token latest = once(m);
    for (int i = 0; i < 5; ++i) {
        ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'mortise row'");
        const token next = once(m);
        EXPECT_GT(next, latest);
        attempt theirs = other.try_acquire("n", {.wait = 70s});  // longer than it is kept: it may not have heard
        ASSERT_TRUE(theirs) << theirs.refusal().describe();
        EXPECT_GT(theirs->token(), next);
        latest = theirs->token();
    }
}

TEST_F(postgres_row, a_user_who_may_not_make_the_schema_is_told_so) {
    ask("CREATE ROLE " + schema_ + " LOGIN PASSWORD 'secret'");
    std::string theirs = url();
    theirs.replace(theirs.find("postgres:secret@"), 16, schema_ + ":secret@");
    client locks{theirs};
    const attempt refused = locks.try_acquire("n");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.refusal().reason, errc::denied) << refused.refusal().describe();

    client owner{url()};
    EXPECT_TRUE(owner.try_acquire("n"));
    ask("GRANT USAGE ON SCHEMA " + schema_ + " TO " + schema_);
    ask("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema_ + " TO " + schema_);
    ask("GRANT USAGE ON ALL SEQUENCES IN SCHEMA " + schema_ + " TO " + schema_);
    client allowed{theirs};
    EXPECT_TRUE(allowed.try_acquire("n"));
}

TEST_F(postgres_row, a_server_that_takes_no_changes_is_named) {
    ask("CREATE ROLE reads_" + schema_ + " SUPERUSER LOGIN PASSWORD 'secret'");
    ask("ALTER ROLE reads_" + schema_ + " SET default_transaction_read_only = on");
    EXPECT_TRUE(client{url()}.try_acquire("n"));
    std::string theirs = url();
    theirs.replace(theirs.find("postgres:secret@"), 16, "reads_" + schema_ + ":secret@");
    const server replica{{.replica_of = server_.get()}};
    for (const std::string& address : {theirs, replica.url("schema=" + schema_)}) {
        client locks{address, {.patience = 2s}};
        const attempt refused = locks.try_acquire("n", {.wait = 5s});
        ASSERT_FALSE(refused) << address;
        EXPECT_THAT(refused.refusal().describe(),
                    ::testing::AnyOf(::testing::HasSubstr("is read-only"), ::testing::HasSubstr("is a replica")));
    }
}

// The tables are on a disk of their own.
TEST(postgres_full_disk, is_named_and_nothing_is_lost) {
    testing::small_disk disk;
    if (!disk.permitted()) GTEST_SKIP() << "only root may mount a small disk";
    server node;
    const std::string place = node.directory() + "-small";
    std::filesystem::create_directory(place);
    disk.mount_at(place, 4);
    std::filesystem::create_directory(place + "/tables");
    node.hand_over(place + "/tables");
    node.open_console().ask("CREATE TABLESPACE small LOCATION '" + place + "/tables'");
    node.open_console().ask("ALTER ROLE postgres SET default_tablespace = small");
    sql::servers::survives_a_full_disk(node.url("schema=full"), disk, "53100");
}

TEST_F(postgres_row, a_table_of_ours_with_other_columns_is_named) {
    ask("CREATE SCHEMA " + schema_);
    ask("CREATE TABLE " + schema_ + ".row_claims (id int)");
    client locks{url()};
    const attempt refused = locks.try_acquire("n");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.refusal().describe().find("is not ours"), std::string::npos) << refused.refusal().describe();
}

}  // namespace
}  // namespace mortise::stores::postgres::servers
