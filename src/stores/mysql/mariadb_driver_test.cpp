// The client library without blocking: values, errors, lost connections, TLS.
#include "stores/mysql/servers/driver_run.hpp"
#include "stores/mysql/servers/server.hpp"
#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using kind = sql::outcome::kind;
using servers::driver_run;

class mariadb_driver : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<servers::server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    static settings how(const std::string& more = {}) {
        return settings::of(base::url::parse(server_->fresh_url() + more));
    }
    static settings at(const std::string& url) { return settings::of(base::url::parse(url)); }

    static inline std::unique_ptr<servers::server> server_;
};

TEST_F(mariadb_driver, returns_what_was_bound) {
    driver_run db{how()};
    ASSERT_EQ(db->is(), sql::driver::state::up) << db->trouble().detail;
    const sql::statement echo{"SELECT ? AS a, ? AS b, ? AS c, CAST(? AS BINARY) AS d"};
    const std::string hostile{"'\"\\\0%_\xf0\x9f\x94\x92\xff", 11};
    for (int i = 0; i < 3; ++i) {
        const auto got = db.run(echo, {std::int64_t{-7} + i, hostile, std::monostate{}, std::string{}});
        ASSERT_TRUE(got.how.ok()) << got.how.detail;
        EXPECT_THAT(got.rows, ElementsAre(sql::values{std::int64_t{-7} + i, hostile, std::monostate{}, std::string{}}));
    }
}

TEST_F(mariadb_driver, numbers_rows_and_counts_those_that_were_found) {
    driver_run db{how()};
    const sql::statement make{"CREATE TABLE n(seq BIGINT AUTO_INCREMENT PRIMARY KEY, a VARBINARY(20)) ENGINE=InnoDB"};
    const sql::statement insert{"INSERT INTO n(a) VALUES(?)"};
    const sql::statement update{"UPDATE n SET a=? WHERE seq<=?"};
    ASSERT_TRUE(db.run(make).how.ok());
    EXPECT_EQ(db.run(insert, {std::string{"x"}}).inserted, 1u);
    EXPECT_EQ(db.run(insert, {std::string{"x"}}).inserted, 2u);
    EXPECT_EQ(db.run(update, {std::string{"x"}, std::int64_t{2}}).affected, 2u);
    EXPECT_EQ(db.run(make).how.is, kind::refused);
    const sql::statement all{"SELECT seq, a FROM n ORDER BY seq"};
    EXPECT_THAT(db.run(all).rows, ElementsAre(sql::values{std::int64_t{1}, std::string{"x"}},
                                              sql::values{std::int64_t{2}, std::string{"x"}}));
}

TEST_F(mariadb_driver, returns_the_rows_of_a_routine) {
    driver_run db{how()};
    const sql::statement make{"CREATE PROCEDURE p(IN n BIGINT) BEGIN SELECT n + 1 AS m; DO SLEEP(0); END"};
    const sql::statement call{"CALL p(?)"};
    ASSERT_TRUE(db.run(make).how.ok());
    for (std::int64_t i = 0; i < 3; ++i) {
        const auto got = db.run(call, {i});
        ASSERT_TRUE(got.how.ok()) << got.how.detail;
        EXPECT_THAT(got.rows, ElementsAre(sql::values{i + 1}));
    }
}

// It may be there as soon as the statement was sent, and then nothing more arrives for as long as that runs.
TEST_F(mariadb_driver, wants_to_be_asked_when_a_statement_that_still_runs_has_told_something) {
    driver_run db{how()};
    const sql::statement make{"CREATE PROCEDURE p() BEGIN SELECT 'told'; DO SLEEP(0.01); END"};
    const sql::statement call{.text = "CALL p()", .tells = true};
    ASSERT_TRUE(db.run(make).how.ok());
    for (int i = 0; i < 100; ++i) {
        db->send(call, {});
        std::optional<sql::notification> told;
        std::optional<sql::result> ended;
        while (!ended) {
            const bool to_be_taken = db->wants().write;
            const bool had_told = told.has_value();
            if (!told) told = db->next_notification();
            if (told && !had_told) {
                EXPECT_TRUE(to_be_taken);
            }
            ended = db->next_result();
            ASSERT_TRUE(ended || db.step());
        }
        ASSERT_TRUE(ended->how.ok()) << ended->how.detail;
        ASSERT_TRUE(told);
        EXPECT_EQ(told->payload, "told");
    }
}

TEST_F(mariadb_driver, goes_on_after_an_error_of_a_statement) {
    driver_run db{how()};
    const sql::statement missing{"SELECT 1 FROM not_there WHERE a=?"};
    const sql::statement fine{"SELECT 1"};
    const auto got = db.run(missing, {std::int64_t{1}});
    EXPECT_EQ(got.how.is, kind::no_schema) << got.how.detail;
    EXPECT_THAT(got.how.detail, HasSubstr("1146"));
    EXPECT_TRUE(db.run(fine).how.ok());
    EXPECT_EQ(db.run(missing, {std::int64_t{1}}).how.is, kind::no_schema);
}

TEST_F(mariadb_driver, says_why_it_cannot_connect) {
    const auto trouble = [&](const std::string& url) {
        driver_run db{at(url)};
        EXPECT_EQ(db->is(), sql::driver::state::lost);
        return db->trouble();
    };
    const auto wrong = trouble(server_->url_of("t1", "mortise:wr0ng"));
    EXPECT_EQ(wrong.is, kind::denied);
    EXPECT_TRUE(wrong.hopeless);
    EXPECT_THAT(wrong.detail, ::testing::Not(HasSubstr("wr0ng")));
    const auto nobody = trouble("mysql://u:p@127.0.0.1:1/t1");
    EXPECT_EQ(nobody.is, kind::unsent) << nobody.detail;
    EXPECT_TRUE(nobody.unmet) << nobody.detail;
    EXPECT_EQ(trouble(server_->url_of("t_none")).is, kind::no_schema);
    EXPECT_EQ(trouble(server_->url_of("foreign")).is, kind::denied);
}

// It accepts, and greets nobody. Whoever drives the connection drives others too.
TEST_F(mariadb_driver, does_not_wait_for_a_server_that_says_nothing) {
    const std::uint16_t port = testing::free_port();
    const auto silent = testing::listener_at(port);
    const settings to = at("mysql://u:p@127.0.0.1:" + std::to_string(port) + "/t1?timeout=60s");
    const auto begun = std::chrono::steady_clock::now();
    const auto db = make_driver(to, std::chrono::seconds{60});
    db->open({.where = to.servers.front(), .numeric = "127.0.0.1"});
    for (int i = 0; i < 3; ++i) db->advance();
    EXPECT_EQ(db->is(), sql::driver::state::connecting) << db->trouble().detail;
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds{30}) << "it blocks for as long as it may";
}

TEST_F(mariadb_driver, notices_a_kill_while_idle_and_while_it_waits) {
    driver_run db{how()};
    const sql::statement who{"SELECT CONNECTION_ID()"};
    const auto id = [&](driver_run& of) {
        return std::to_string(std::get<std::int64_t>(of.run(who).rows.at(0).at(0)));
    };
    server_->run("KILL " + id(db));
    while (db->is() == sql::driver::state::up) ASSERT_TRUE(db.step());
    EXPECT_EQ(db->trouble().is, kind::unsent) << db->trouble().detail;

    driver_run waiting{how()};
    const std::string number = id(waiting);
    const sql::statement wait{"SELECT SLEEP(?)"};
    waiting->send(wait, std::vector<sql::value>{std::int64_t{60}});
    server_->run("KILL " + number);
    std::optional<sql::result> got;
    while (!(got = waiting->next_result())) ASSERT_TRUE(waiting.step());
    EXPECT_EQ(got->how.is, kind::unsure) << got->how.detail;
    EXPECT_EQ(waiting->is(), sql::driver::state::lost);
}

TEST_F(mariadb_driver, can_be_given_up_at_any_time) {
    const auto count = [] {
        return server_->run("SELECT COUNT(*) FROM information_schema.processlist WHERE user='mortise'");
    };
    const settings to = how();
    const sql::statement wait{"SELECT SLEEP(?)"};
    for (int steps = 0; steps < 12; ++steps) {
        auto db = make_driver(to, std::chrono::seconds{60});
        db->open({.where = to.servers.front(), .numeric = "127.0.0.1"});
        for (int i = 0; i < steps && db->is() == sql::driver::state::connecting; ++i) {
            pollfd socket{db->descriptor(), POLLIN | POLLOUT, 0};
            ::poll(&socket, 1, 1000);
            db->advance();
        }
        if (db->ready()) db->send(wait, std::vector<sql::value>{std::int64_t{1}});
    }
    EXPECT_TRUE(testing::eventually([&] { return count() == "0"; })) << count();
}

}  // namespace
}  // namespace mortise::inline v0::stores::mysql
