// Versions that must not have changed, under conflict.
#include "stores/mysql/servers/server.hpp"
#include "stores/mysql/settings.hpp"

#include <mortise/error.hpp>
#include <mortise/sql/optimistic.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <mariadb/mysql.h>

namespace mortise::inline v0::sql {
namespace {

using namespace std::chrono_literals;
using connection = std::unique_ptr<MYSQL, void (*)(MYSQL*)>;

class mysql_optimistic : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<stores::mysql::servers::server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    void SetUp() override {
        database_ = server_->fresh_url();
        database_ = database_.substr(database_.rfind('/') + 1);
        server_->run("CREATE TABLE counter(n BIGINT) ENGINE=InnoDB; INSERT INTO counter VALUES(0)", database_);
    }
    connection connect() const {
        connection made{mysql_init(nullptr), &mysql_close};
        const unsigned tcp = MYSQL_PROTOCOL_TCP;
        mysql_optionsv(made.get(), MYSQL_OPT_PROTOCOL, &tcp);
        if (mysql_real_connect(made.get(), "127.0.0.1", "mortise", "secret", database_.c_str(), server_->port(),
                               nullptr, 0) == nullptr)
            throw std::runtime_error(mysql_error(made.get()));
        return made;
    }
    static void run(MYSQL* on, const std::string& text) {
        if (mysql_query(on, text.c_str()) != 0) throw std::runtime_error(mysql_error(on));
        mysql_free_result(mysql_store_result(on));
    }
    std::string count() const { return server_->run("SELECT n FROM counter", database_); }

    static inline std::unique_ptr<stores::mysql::servers::server> server_;
    std::string database_;
};

TEST_F(mysql_optimistic, a_change_is_made_once_and_raises_the_version) {
    const connection mine = connect();
    const auto add = [](MYSQL* c, std::uint64_t) { run(c, "UPDATE counter SET n = n + 1"); };
    EXPECT_EQ(change_if_unchanged(mine.get(), "n", add).version, 1u);
    const auto second = change_if_unchanged(mine.get(), "n", add);
    EXPECT_EQ(second.version, 2u);
    EXPECT_EQ(second.attempts, 1u);
    EXPECT_EQ(count(), "2");
}

// Read, think, write: without the version updates would be lost. First uses of the missing row and of the missing table compete too.
TEST_F(mysql_optimistic, no_update_of_a_contended_counter_is_lost) {
    constexpr int threads = 4;
    constexpr int times = 25;
    std::atomic<unsigned> attempts{0};
    {
        std::vector<std::jthread> crowd;
        for (int i = 0; i < threads; ++i)
            crowd.emplace_back([&] {
                const connection mine = connect();
                for (int n = 0; n < times; ++n)
                    attempts +=
                        change_if_unchanged(mine.get(), "counter",
                                            [](MYSQL* c, std::uint64_t) {
                                                if (mysql_query(c, "SELECT n FROM counter") != 0)
                                                    throw std::runtime_error(mysql_error(c));
                                                MYSQL_RES* const rows = mysql_store_result(c);
                                                const std::string read = mysql_fetch_row(rows)[0];
                                                mysql_free_result(rows);
                                                run(c, "UPDATE counter SET n = " + std::to_string(std::stoi(read) + 1));
                                            },
                                            {.attempts = 100'000})
                            .attempts;
            });
    }
    EXPECT_EQ(count(), std::to_string(threads * times));
    RecordProperty("attempts_per_success", std::to_string(static_cast<double>(attempts) / (threads * times)));
}

TEST_F(mysql_optimistic, the_loser_s_effects_vanish_and_it_is_told) {
    const connection mine = connect();
    const connection other = connect();
    const auto nothing = [](MYSQL*, std::uint64_t) {};
    change_if_unchanged(mine.get(), "n", nothing);
    std::string why;
    try {
        change_if_unchanged(mine.get(), "n",
                            [&](MYSQL* c, std::uint64_t) {
                                run(c, "UPDATE counter SET n = n + 100");
                                change_if_unchanged(other.get(), "n", nothing);
                            },
                            {.attempts = 3});
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::busy);
        why = e.what();
    }
    EXPECT_THAT(why, ::testing::HasSubstr("each of 3 attempts"));
    EXPECT_EQ(count(), "0");
}

TEST_F(mysql_optimistic, what_the_change_throws_is_thrown_on_and_undone) {
    const connection mine = connect();
    EXPECT_THROW(change_if_unchanged(mine.get(), "n",
                                     [](MYSQL* c, std::uint64_t) {
                                         run(c, "UPDATE counter SET n = 7");
                                         throw std::logic_error("no");
                                     }),
                 std::logic_error);
    EXPECT_EQ(count(), "0");
}

// Two that lock two rows in opposite orders: the server ends one, which is repeated.
TEST_F(mysql_optimistic, a_deadlock_is_repeated) {
    server_->run("CREATE TABLE pair(k INT PRIMARY KEY, n INT) ENGINE=InnoDB; INSERT INTO pair VALUES(1, 0), (2, 0)",
                 database_);
    std::vector<std::jthread> both;
    for (const int first : {1, 2})
        both.emplace_back([&, first] {
            const connection mine = connect();
            for (int i = 0; i < 20; ++i)
                change_if_unchanged(mine.get(), "pair" + std::to_string(first),
                                    [&](MYSQL* c, std::uint64_t) {
                                        for (const int k : {first, 3 - first})
                                            run(c, "UPDATE pair SET n = n + 1 WHERE k = " + std::to_string(k));
                                    },
                                    {.attempts = 10'000});
        });
    both.clear();
    EXPECT_EQ(server_->run("SELECT SUM(n) FROM pair", database_), "80");
}

TEST_F(mysql_optimistic, the_lock_excludes_counts_up_and_ends_with_its_lease) {
    const connection a = connect();
    const connection b = connect();
    version_lock mine{a.get(), "lock", 60s};
    version_lock theirs{b.get(), "lock", 60s, {.attempts = 3}};
    mine.lock();
    const std::uint64_t first = mine.token();
    EXPECT_FALSE(theirs.try_lock());
    EXPECT_THROW(theirs.lock(), error);
    EXPECT_TRUE(mine.unlock());
    EXPECT_FALSE(mine.unlock());
    ASSERT_TRUE(theirs.try_lock());
    EXPECT_GT(theirs.token(), first);

    server_->run("UPDATE mortise_versions SET held_until = 1", database_);  // its lease is over
    ASSERT_TRUE(mine.try_lock());
    EXPECT_FALSE(theirs.unlock());
    EXPECT_TRUE(mine.unlock());
}

}  // namespace
}  // namespace mortise::inline v0::sql
