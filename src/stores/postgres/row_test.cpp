// Claims as rows: what only PostgreSQL can do to them.
#include "stores/postgres/servers/server.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/mortise.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace mortise::stores::postgres::servers {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::eventually;
using mortise::testing::milestone;

class postgres_row : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    std::string url() const { return server_->url("schema=" + schema_); }
    std::string ask(const std::string& statement) const { return server_->open_console().ask(statement); }
    std::string waiting() const { return ask("SELECT count(*) FROM " + schema_ + ".row_claims WHERE confirmed = 0"); }
    // Ends the sessions of all clients.
    void terminate() const {
        ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'mortise row'");
    }

    inline static std::unique_ptr<server> server_;
    inline static int made_ = 0;
    const std::string schema_ = "row" + std::to_string(++made_);
};

TEST_F(postgres_row, a_hold_outlives_its_connection) {
    client locks{url()};
    client others{url()};
    hold mine = locks.acquire("n", {.lease = 2s});
    terminate();
    EXPECT_FALSE(others.try_acquire("n"));
    std::this_thread::sleep_for(3s);  // renewed meanwhile, on another connection
    EXPECT_TRUE(mine.valid());
    EXPECT_FALSE(others.try_acquire("n"));
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(others.try_acquire("n"));
}

TEST_F(postgres_row, a_claim_waits_on_when_its_connection_is_ended) {
    client locks{url()};
    client others{url()};
    hold mine = locks.acquire("n");
    std::thread waiter{[&] { EXPECT_TRUE(others.acquire("n").valid()); }};
    EXPECT_TRUE(eventually([&] { return waiting() == "1"; }));
    terminate();
    EXPECT_TRUE(eventually([&] { return waiting() == "1"; }));
    EXPECT_EQ(mine.release(), release_result::released);
    waiter.join();
}

// Without waiting for a lease of 30 s.
TEST_F(postgres_row, a_killed_waiter_at_the_head_is_passed_over) {
    client locks{url()};
    client next{url()};
    hold mine = locks.acquire("n");
    child dies{[&] {
        client own{url()};
        const hold never = own.acquire("n");
        ::pause();
        return 0;
    }};
    ASSERT_TRUE(eventually([&] { return waiting() == "1"; }));
    std::thread waiter{[&] { EXPECT_TRUE(next.acquire("n").valid()); }};
    ASSERT_TRUE(eventually([&] { return waiting() == "2"; }));
    dies.kill();
    EXPECT_EQ(mine.release(), release_result::released);
    waiter.join();
}

TEST_F(postgres_row, names_and_labels_are_bytes) {
    client locks{url()};
    std::vector<hold> all;
    for (const std::string name :
         {"it's", "back\\slash", "\"quoted\"", "per%cent; DROP TABLE row_claims", "\xF0\x9F\x94\x92", "N", "n"})
        all.push_back(locks.acquire(name, {.label = name}));
    const auto listed = locks.list();
    EXPECT_EQ(listed.size(), all.size());
    for (const held_lock& one : listed) EXPECT_EQ(one.name, one.holder.label);
}

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
