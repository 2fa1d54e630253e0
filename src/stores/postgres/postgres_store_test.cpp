// What only advisory locks have: sessions, the server's own queue, its numbers for names.
#include "stores/postgres/lock_key.hpp"
#include "stores/postgres/servers/suite.hpp"

#include <mortise/error.hpp>
#include <mortise/finding.hpp>
#include <mortise/mutex.hpp>

#include <future>
#include <thread>

namespace mortise::inline v0::stores::postgres {
namespace {

using namespace servers;

class postgres_advisory : public on_one_server {};

TEST_F(postgres_advisory, a_name_has_the_number_that_sql_gives_it) {
    console psql = node().open_console();
    for (const std::string name : {"n", "a/b",
                                   "Stra\xc3\x9f"
                                   "e",
                                   "\xf0\x9f\x94\x92", "it's", "back\\slash"}) {
        std::string literal;
        for (const char c : name) literal += c == '\'' ? std::string("''") : std::string(1, c);
        EXPECT_EQ(psql.ask("SELECT ('x' || left(encode(sha256(convert_to('shop', 'UTF8') || '\\x00' || convert_to('" +
                           literal + "', 'UTF8')), 'hex'), 16))::bit(64)::bigint"),
                  std::to_string(lock_key("shop", name)))
            << name;
    }
}

TEST_F(postgres_advisory, whoever_knows_the_number_takes_part_in_sql) {
    client locks{url()};
    hold mine = locks.acquire("n");
    console psql = node().open_console();
    const std::string key = std::to_string(lock_key(schema_, "n"));
    EXPECT_EQ(psql.ask("SELECT pg_try_advisory_lock(" + key + ")"), "f");
    mine.release();
    EXPECT_EQ(psql.ask("SELECT pg_try_advisory_lock(" + key + ")"), "t");
    EXPECT_EQ(locks.try_acquire("n").reason(), errc::busy);
}

TEST_F(postgres_advisory, more_names_than_sessions_to_wait_on_are_all_served) {
    constexpr int names = 12;
    client holders{url("&wait_connections=0")};
    client waiters{url("&wait_connections=2")};
    std::vector<hold> held;
    for (int i = 0; i < names; ++i) held.push_back(holders.acquire("n" + std::to_string(i)));
    std::vector<std::future<bool>> waits;
    for (int i = 0; i < names; ++i)
        waits.push_back(std::async(std::launch::async, [&, i] {
            return static_cast<bool>(waiters.try_acquire("n" + std::to_string(i), {.wait = plenty}));
        }));
    console psql = node().open_console();
    ASSERT_TRUE(eventually([&] {
        return psql.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == "2";
    })) << "as many as there are sessions to wait on";
    EXPECT_LE(std::stoi(psql.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'mortise %'")), 4);
    held.clear();
    for (auto& one : waits) EXPECT_TRUE(one.get());
}

TEST_F(postgres_advisory, two_claims_of_one_client_exclude_each_other_on_one_session) {
    client locks{url()};
    const hold mine = locks.acquire("n", {.label = "one"});
    EXPECT_EQ(locks.try_acquire("n", {.hand_over = hand_over::off, .label = "two"}).reason(), errc::busy);
    console psql = node().open_console();
    EXPECT_EQ(
        psql.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND (classid::bigint << 32 | "
                 "objid::bigint) = " +
                 std::to_string(lock_key(schema_, "n"))),
        "1");
}

TEST_F(postgres_advisory, a_cancelled_wait_leaves_no_lock_and_no_waiter) {
    client locks{url()};
    client others{url()};
    console psql = node().open_console();
    for (int i = 0; i < 20; ++i) {
        hold mine = locks.acquire("n");
        EXPECT_EQ(others.try_acquire("n", {.wait = 20ms}).reason(), errc::timed_out);
        mine.release();
        ASSERT_TRUE(locks.try_acquire("n", {.wait = plenty})) << "a late grant would be in the way";
    }
    EXPECT_TRUE(
        eventually([&] { return psql.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == "0"; }));
}

TEST_F(postgres_advisory, tokens_rise_over_a_crash_of_the_server) {
    token last{};
    for (int i = 0; i < 3; ++i) {
        client locks{url()};
        const hold mine = locks.acquire("n", {.wait = plenty});
        EXPECT_GT(mine.token(), last);
        last = mine.token();
        node().kill();
        node().start();
    }
}

TEST_F(postgres_advisory, a_user_with_the_printed_rights_and_no_others_takes_locks) {
    console psql = node().open_console();
    psql.ask("CREATE ROLE clerk LOGIN PASSWORD 'pw'");
    const std::string clerk =
        "postgres://clerk:pw@" + node().address() + "/postgres?strategy=advisory&schema=" + schema_;
    client locks{clerk};
    const attempt denied = locks.try_acquire("n", {.wait = plenty});
    EXPECT_EQ(denied.reason(), errc::denied) << denied.refusal().describe();
    EXPECT_NE(denied.refusal().describe().find("mortise schema"), std::string::npos);
    psql.ask(locks.schema());
    EXPECT_TRUE(client{clerk}.try_acquire("n", {.wait = plenty}));
    psql.ask("DROP SCHEMA \"" + schema_ + "\" CASCADE; DROP ROLE clerk");
}

// The server knows no tokens, and a session may hold other locks too.
TEST_F(postgres_advisory, a_lock_cannot_be_broken_by_its_token_but_its_session_can_be_ended) {
    client locks{url()};
    const hold mine = locks.acquire("n");
    client operators{url()};
    std::error_code ec;
    EXPECT_FALSE(operators.break_lock("n", mine.token(), "stuck", ec));
    EXPECT_EQ(ec, errc::unsupported);
    EXPECT_TRUE(mine.valid());
    console psql = node().open_console();
    // As README has it.
    psql.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 "
        "AND (classid::bigint << 32 | objid::bigint) = " +
        std::to_string(lock_key(schema_, "n")));
    EXPECT_TRUE(eventually([&] { return !mine.valid(); }));
    EXPECT_TRUE(operators.try_acquire("n", {.wait = plenty}));
}

TEST_F(postgres_advisory, the_doctor_knows_the_server) {
    client locks{url()};
    std::error_code ec;
    std::string all;
    for (const finding& one : locks.check(ec)) all += one.what + "\n";
    EXPECT_FALSE(ec);
    EXPECT_NE(all.find("is PostgreSQL"), std::string::npos) << all;
    EXPECT_NE(all.find("connections are in use"), std::string::npos) << all;
    EXPECT_NE(all.find("superuser"), std::string::npos) << all;
    EXPECT_NE(all.find("not encrypted"), std::string::npos) << all;
}

}  // namespace
}  // namespace mortise::inline v0::stores::postgres
