// What only this store has: connections that run out, are killed and are cut, and its tables.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/mysql/servers/server.hpp"
#include "stores/mysql/statements.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;

class mysql_bound : public ::testing::TestWithParam<const char*> {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<servers::server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    static std::string url(const std::string& more = {}) {
        return server_->fresh_url() + "?strategy=" + GetParam() + more;
    }
    static std::string behind(const std::string& address, std::uint16_t port) {
        std::string moved = address;
        const std::string there = std::to_string(server_->port());
        return moved.replace(moved.find(there), there.size(), std::to_string(port));
    }
    static std::string database_in(const std::string& address) {
        const std::size_t from = address.rfind('/') + 1;
        return address.substr(from, address.find('?') - from);
    }
    // The connections of our user that do something, or that hold a lock.
    static std::string sessions(const std::string& where) {
        return server_->run("SELECT id FROM information_schema.processlist WHERE user = 'mortise' AND " + where);
    }
    static std::string complaint(const std::string& address) {
        try {
            static_cast<void>(client{address, {.patience = 2s}}.acquire("n", {.wait = 5s}));
        } catch (const error& e) {
            EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
            return e.what();
        }
        return "granted";
    }

    static inline std::unique_ptr<servers::server> server_;
};
INSTANTIATE_TEST_SUITE_P(each, mysql_bound, ::testing::Values("get_lock", "for_update"),
                         [](const auto& about) { return about.param; });

// Whoever comes first makes the row, and another may have made and locked it meanwhile. The holder's token has to get past it on
// the connection that all share.
TEST_P(mysql_bound, making_a_row_does_not_wait_for_whoever_has_locked_it) {
    if (std::string_view{GetParam()} != "for_update") GTEST_SKIP() << "get_lock has no rows";
    const std::string address = url();
    client locks{address};
    const hold held = locks.acquire("n");
    std::string making = bound_statements{strategy::for_update}.make_row.text;
    making.replace(making.find('?'), 1, "'n'");
    try {
        server_->run("SET innodb_lock_wait_timeout=1000;" + making, database_in(address));
        ADD_FAILURE() << "it made a row that is there";
    } catch (const std::runtime_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("ERROR 1205"));
    }
}

TEST_P(mysql_bound, excludes_hands_over_and_counts_up) {
    const std::string address = url();
    client a{address};
    client b{address};
    std::uint64_t last = 0;
    for (int i = 0; i < 20; ++i) {
        hold held = a.acquire("n");
        EXPECT_GT(held.token().value(), last);
        last = held.token().value();
        EXPECT_FALSE(b.try_acquire("n"));
        std::thread next{[&] {
            hold got = b.try_acquire("n", {.wait = 20s}).value();
            EXPECT_GT(got.token().value(), last);
            last = got.token().value();
        }};
        std::this_thread::sleep_for(2ms);
        held.release();
        next.join();
    }
}

TEST_P(mysql_bound, names_that_other_servers_mix_up_are_different_locks) {
    client locks{url()};
    const std::string longest(200, 'x');
    const std::string almost = longest.substr(1) + "y";
    std::vector<hold> all;
    for (const std::string& name : {std::string{"a"}, std::string{"A"}, std::string{"a "}, std::string{"\xc3\xa4"},
                                    std::string{"'; DROP TABLE mortise_holds; --"}, std::string{"\"\\%_"},
                                    std::string{"\xf0\x9f\x94\x92"}, longest, almost})
        all.push_back(locks.try_acquire(name, {.label = "'\"\\"}).value());
    const auto listed = locks.list();
    ASSERT_EQ(listed.size(), all.size());
    for (const held_lock& one : listed) EXPECT_EQ(one.holder.label, "'\"\\") << one.name;
}

TEST_P(mysql_bound, refuses_the_claim_that_has_no_connection_and_says_what_to_do) {
    const std::string address = url("&connections=2");
    client locks{address};
    std::optional<hold> first = locks.acquire("a");
    const hold second = locks.acquire("b");
    const attempt third = locks.try_acquire("c", {.wait = 1s});
    ASSERT_FALSE(third);
    EXPECT_EQ(third.refusal().reason, errc::exhausted);
    EXPECT_THAT(third.refusal().describe(), HasSubstr("raise the option connections"));
    first.reset();
    EXPECT_TRUE(locks.try_acquire("c", {.wait = 1s}));
}

TEST_P(mysql_bound, a_hold_whose_connection_is_killed_is_lost_at_once) {
    const std::string address = url();
    client locks{address};
    const hold held = locks.acquire("n");
    ASSERT_TRUE(held.valid());
    server_->run("KILL " + server_->run("SELECT session FROM " + database_in(address) + ".mortise_holds"));
    EXPECT_TRUE(eventually([&] { return !held.valid(); }));
    client other{address};
    EXPECT_TRUE(other.try_acquire("n", {.wait = 10s}));
}

TEST_P(mysql_bound, a_wait_whose_connection_is_killed_goes_on) {
    const std::string address = url();
    client a{address};
    client b{address};
    std::optional<hold> held = a.acquire("n");
    std::thread waits{[&] { EXPECT_TRUE(b.try_acquire("n", {.wait = 60s})); }};
    std::string waiting;
    EXPECT_TRUE(eventually([&] {
        waiting = sessions("command = 'Execute' AND time_ms > 20");
        return !waiting.empty();
    }));
    server_->run("KILL " + waiting);
    std::this_thread::sleep_for(300ms);
    held.reset();
    waits.join();
}

TEST_P(mysql_bound, a_wait_that_is_given_up_leaves_nothing_behind) {
    const std::string address = url();
    client a{address};
    client b{address};
    std::optional<hold> held = a.acquire("n");
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(b.try_acquire("n", {.wait = 150ms}));
    EXPECT_TRUE(eventually([&] { return sessions("command = 'Execute'").empty(); }));
    held.reset();
    EXPECT_TRUE(b.try_acquire("n", {.wait = 10s}));
}

TEST_P(mysql_bound, a_silent_cut_ends_the_hold_before_the_server_frees_it) {
    testing::tcp_proxy network{server_->port()};
    const std::string address = url("&session=4s");
    client cut{behind(address, network.port())};
    client other{address};
    const hold held = cut.acquire("n");
    network.swallow(testing::way::to_server);
    network.swallow(testing::way::to_client);
    bool valid_at_grant = true;
    std::thread next{[&] {
        const attempt got = other.try_acquire("n", {.wait = 60s});
        valid_at_grant = held.valid();
        EXPECT_TRUE(got);
    }};
    next.join();
    EXPECT_FALSE(valid_at_grant);
}

TEST_P(mysql_bound, locks_outlive_neither_their_process_nor_its_waits) {
    const std::string address = url();
    testing::child holder{[&] {
        client locks{address};
        const hold held = locks.acquire("n");
        std::this_thread::sleep_for(60s);
        return 0;
    }};
    client other{address};
    EXPECT_TRUE(eventually([&] { return !other.try_acquire("n"); }));
    testing::child waiter{[&] {
        client locks{address};
        static_cast<void>(locks.try_acquire("n", {.wait = 60s}));
        return 0;
    }};
    EXPECT_TRUE(eventually([&] { return !sessions("command = 'Execute' AND time_ms > 20").empty(); }));
    waiter.kill();
    holder.kill();
    EXPECT_TRUE(other.try_acquire("n", {.wait = 20s}));
}

TEST_P(mysql_bound, records_of_the_dead_are_removed_and_those_of_the_living_kept) {
    const std::string address = url();
    client lives{address};
    const hold kept = lives.acquire("kept");
    testing::child dies{[&] {
        client locks{address};
        const hold held = locks.acquire("n");
        std::this_thread::sleep_for(60s);
        return 0;
    }};
    const auto records = [&](const std::string& name) {
        return server_->run("SELECT COUNT(*) FROM " + database_in(address) + ".mortise_holds WHERE name = '" + name +
                            "'");
    };
    ASSERT_TRUE(eventually([&] { return records("n") == "1"; }));
    dies.kill();
    EXPECT_EQ(records("n"), "1") << "nobody is left to remove it";
    client next{address};
    EXPECT_TRUE(eventually([&] { return next.list().size() == 1; })) << "the server has noticed";
    EXPECT_EQ(next.acquire("m").release(), release_result::released);
    EXPECT_TRUE(eventually([&] { return records("n") == "0"; }));
    EXPECT_EQ(records("kept"), "1");
    EXPECT_TRUE(kept.valid());
}

TEST_P(mysql_bound, says_what_is_wrong) {
    const std::string address = url();
    const std::string database = database_in(address);
    const auto as = [&](const std::string& user) {
        return server_->url_of(database, user) + "?strategy=" + GetParam();
    };
    EXPECT_THAT(complaint(as("mortise:wrong")), AllOf(HasSubstr("denied"), Not(HasSubstr("wrong@"))));
    server_->run("CREATE USER IF NOT EXISTS poor@'127.0.0.1' IDENTIFIED BY 'poor'; GRANT SELECT ON " + database +
                 ".* TO poor@'127.0.0.1'");
    EXPECT_THAT(complaint(as("poor:poor")), HasSubstr("mortise schema"));
    EXPECT_EQ(complaint(address), "granted");
    server_->run("SET GLOBAL read_only = 1");
    EXPECT_THAT(complaint(address), HasSubstr("1290"));
    server_->run("SET GLOBAL read_only = 0");
    EXPECT_EQ(complaint(address), "granted");
    server_->run("CREATE OR REPLACE TABLE " + database + ".mortise_holds(x INT)");
    EXPECT_THAT(complaint(address), HasSubstr("not ours"));
}

TEST_P(mysql_bound, needs_no_more_rights_than_its_schema_grants) {
    const std::string address = url();
    const std::string database = database_in(address);
    server_->run("CREATE OR REPLACE USER least@'%' IDENTIFIED BY 'least'");
    const std::string mine = server_->url_of(database, "least:least") + "?strategy=" + GetParam();
    client asked{mine};
    server_->run(asked.schema());
    EXPECT_EQ(complaint(mine), "granted");
    std::error_code failed;
    for (const finding& one : asked.check(failed)) EXPECT_NE(one.is, finding::grade::problem) << one.what;
}

TEST_P(mysql_bound, goes_on_after_the_server_was_restarted) {
    servers::server mine;
    const std::string address = mine.fresh_url() + "?strategy=" + GetParam();
    client locks{address, {.patience = 60s}};
    const hold before = locks.acquire("n");
    client others{address, {.patience = 60s}};
    attempt after{refusal{}};
    std::thread waits{[&] { after = others.try_acquire("n", {.wait = 90s}); }};
    EXPECT_TRUE(eventually([&] {
        return mine.run(
                   "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'mortise' AND command = "
                   "'Execute' AND time_ms > 20") == "1";
    }));
    mine.kill();
    EXPECT_TRUE(eventually([&] { return !before.valid(); }));
    mine.restart();
    waits.join();
    ASSERT_TRUE(after) << after.refusal().describe();
    EXPECT_GT(after->token().value(), before.token().value());
}

// Each claim has a connection of its own, so the server sees no circle; who set a time limit is told that it is over.
TEST_P(mysql_bound, a_deadlock_of_two_clients_ends_with_their_time) {
    const std::string address = url();
    client a{address};
    client b{address};
    const hold first = a.acquire("x");
    const hold second = b.acquire("y");
    attempt of_a{refusal{}};
    std::thread other{[&] { of_a = a.try_acquire("y", {.wait = 500ms}); }};
    const attempt of_b = b.try_acquire("x", {.wait = 500ms});
    other.join();
    EXPECT_EQ(of_a.reason(), errc::timed_out);
    EXPECT_EQ(of_b.reason(), errc::timed_out);
    EXPECT_TRUE(first.valid());
    EXPECT_TRUE(second.valid());
}

TEST_P(mysql_bound, says_so_if_the_server_has_no_connection_left) {
    const std::string address = url();
    const std::string database = database_in(address);
    server_->run(
        "CREATE OR REPLACE USER few@'127.0.0.1' IDENTIFIED BY 'few' WITH MAX_USER_CONNECTIONS 2; GRANT ALL ON " +
        database + ".* TO few@'127.0.0.1'");
    client locks{server_->url_of(database, "few:few") + "?strategy=" + GetParam(), {.patience = 2s}};
    std::optional<hold> held = locks.acquire("a");
    const attempt none = locks.try_acquire("b", {.wait = 10s});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.reason(), errc::unreachable) << "one may be free again soon: " << none.refusal().describe();
    EXPECT_THAT(none.refusal().describe(), HasSubstr("max_user_connections"));
    EXPECT_TRUE(held->valid());
    held.reset();
    EXPECT_TRUE(locks.try_acquire("b", {.wait = 10s}));
}

}  // namespace
}  // namespace mortise::inline v0::stores::mysql
