// The three database locks as documents print them, each failing on a schedule that is written out; and ours on the same server
// with eight processes. make storms (MORTISE_STORMS_IN_FULL=1) does the latter 10,000 times.
#include "stores/mysql/servers/server.hpp"
#include "support/children.hpp"
#include "support/shared_page.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/sql/optimistic.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <mariadb/mysql.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

constexpr unsigned duplicate = 1062;
constexpr unsigned waited_too_long = 1205;
constexpr unsigned deadlock = 1213;
constexpr unsigned too_many_of_this_user = 1226;

// What a program has that was written from the document: a connection, and statements on it.
class session {
public:
    explicit session(const servers::server& on, const std::string& database, const std::string& user = "mortise")
        : mysql_(mysql_init(nullptr), &mysql_close) {
        const unsigned tcp = MYSQL_PROTOCOL_TCP;
        mysql_optionsv(mysql_.get(), MYSQL_OPT_PROTOCOL, &tcp);
        if (mysql_real_connect(mysql_.get(), "127.0.0.1", user.c_str(), "secret", database.c_str(), on.port(), nullptr,
                               0) == nullptr)
            refused_ = mysql_errno(mysql_.get());
    }
    unsigned refused() const { return refused_; }  // 0: connected

    // The error, 0 if there is none.
    unsigned run(const std::string& text) {
        if (mysql_query(mysql_.get(), text.c_str()) != 0) return mysql_errno(mysql_.get());
        if (mysql_field_count(mysql_.get()) > 0) read();
        return 0;
    }
    std::uint64_t changed() { return mysql_affected_rows(mysql_.get()); }
    const std::string& value() const { return value_; }  // the first of the last result; empty: no row
    MYSQL* get() { return mysql_.get(); }
    std::string number() { return std::to_string(mysql_thread_id(mysql_.get())); }

private:
    void read() {
        MYSQL_RES* const rows = mysql_store_result(mysql_.get());
        const MYSQL_ROW row = mysql_fetch_row(rows);
        value_ = row != nullptr && row[0] != nullptr ? row[0] : "";
        mysql_free_result(rows);
    }
    std::unique_ptr<MYSQL, void (*)(MYSQL*)> mysql_;
    unsigned refused_ = 0;
    std::string value_;
};

class mysql_printed : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<servers::server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    void SetUp() override {
        url_ = server_->fresh_url();
        database_ = url_.substr(url_.rfind('/') + 1);
    }
    session connect(const std::string& user = "mortise") const { return session{*server_, database_, user}; }
    void make(const std::string& table) const { server_->run(table, database_); }
    // Until the statement of that connection waits for a lock.
    bool waits(session& one) const {
        return eventually([&] {
            return server_->run(
                       "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND "
                       "trx_mysql_thread_id = " +
                       one.number()) == "1";
        });
    }

    static inline std::unique_ptr<servers::server> server_;
    std::string url_;
    std::string database_;
};

// ---- M1: a unique index; INSERT takes, DELETE frees. With the columns that the document adds: owner, depth by the row alone, and
// an expiry with a sweeper.

class mysql_printed_insert : public mysql_printed {
protected:
    void SetUp() override {
        mysql_printed::SetUp();
        make("CREATE TABLE locks(name VARCHAR(64) PRIMARY KEY, owner VARCHAR(64), expires DATETIME(6)) ENGINE=InnoDB");
    }
    static unsigned take(session& by, const std::string& owner = "a") {
        return by.run("INSERT INTO locks VALUES('n', '" + owner + "', NOW(6) + INTERVAL 1 SECOND)");
    }
    // "The owner is me, so I may go in."
    static bool take_again(session& by, const std::string& owner) {
        if (take(by, owner) == 0) return true;
        by.run("SELECT owner FROM locks WHERE name = 'n'");
        return by.value() == owner;
    }
    static unsigned free(session& by) { return by.run("DELETE FROM locks WHERE name = 'n'"); }
    void sweep_at_once() const { server_->run("DELETE FROM locks", database_); }
    void sweep_what_expired() const {
        server_->run("DELETE FROM locks WHERE expires < NOW(6) + INTERVAL 2 SECOND", database_);
    }
};

TEST_F(mysql_printed_insert, a_late_delete_frees_another_s_lock) {
    session a = connect();
    session b = connect();
    session c = connect();
    ASSERT_EQ(take(a, "a"), 0u);
    sweep_at_once();  // an operator takes a for dead
    ASSERT_EQ(take(b, "b"), 0u);
    EXPECT_EQ(free(a), 0u);
    EXPECT_EQ(take(c, "c"), 0u) << "while b is inside";
}

TEST_F(mysql_printed_insert, the_row_of_a_holder_that_died_stays) {
    {
        session a = connect();
        ASSERT_EQ(take(a), 0u);
    }
    session b = connect();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(take(b, "b"), duplicate);
}

TEST_F(mysql_printed_insert, re_entry_is_not_counted_and_the_inner_delete_frees_the_outer_s_row) {
    session a = connect();
    session b = connect();
    ASSERT_TRUE(take_again(a, "host-1:thread-7"));
    ASSERT_TRUE(take_again(a, "host-1:thread-7"));
    EXPECT_EQ(free(a), 0u);
    EXPECT_TRUE(take_again(b, "host-1:thread-8")) << "while the outer level of a is inside";
}

TEST_F(mysql_printed_insert, a_recycled_thread_id_inherits_a_dead_holder_s_row) {
    {
        session dead = connect();
        ASSERT_TRUE(take_again(dead, "host-1:thread-7"));
    }
    session next = connect();
    EXPECT_TRUE(take_again(next, "host-1:thread-7")) << "it took nothing, and has what the dead one left half done";
    EXPECT_EQ(next.value(), "host-1:thread-7");
}

TEST_F(mysql_printed_insert, the_sweeper_deletes_the_row_of_a_holder_that_is_slow_and_alive) {
    session a = connect();
    session b = connect();
    ASSERT_EQ(take(a, "a"), 0u);
    sweep_what_expired();
    EXPECT_EQ(take(b, "b"), 0u) << "while a is inside";
}

// Those who wait for the row share it once it is deleted, and then all of them want to change it.
TEST_F(mysql_printed_insert, sixteen_threads_deadlock) {
    std::atomic<bool> seen{false};
    const auto began = std::chrono::steady_clock::now();
    {
        std::vector<std::jthread> crew;
        for (int i = 0; i < 16; ++i)
            crew.emplace_back([&] {
                session mine = connect();
                while (!seen && std::chrono::steady_clock::now() - began < 60s)
                    if (take(mine) == deadlock || free(mine) == deadlock) seen = true;
            });
    }
    EXPECT_TRUE(seen);
    std::cout << "deadlock after ms: " << (std::chrono::steady_clock::now() - began) / 1ms << "\n";
}

// Without hand-over, so that each turn is a row of its own.
TEST_F(mysql_printed_insert, sixteen_threads_of_ours_do_not) {
    const auto deadlocks = [&] {
        const std::string got = server_->run("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'");
        return got.substr(got.find('\t') + 1);
    };
    client locks{url_, {.hand_over_turns = 1}};
    const std::string before = deadlocks();
    std::atomic<int> refused{0};
    {
        std::vector<std::jthread> crew;
        for (int i = 0; i < 16; ++i)
            crew.emplace_back([&] {
                for (int n = 0; n < 10; ++n)
                    if (!locks.try_acquire("n", {.wait = 60s})) ++refused;
            });
    }
    EXPECT_EQ(refused, 0);
    std::cout << "deadlocks in the server: " << before << " before, " << deadlocks() << " after\n";
}

// Ours counts levels, renews while its holder lives, knows a dead one by its connection or its lease, and frees by id.
TEST_F(mysql_printed_insert, ours_does_none_of_this) {
    client a{url_, {.lease = 1s}};
    client b{url_};
    std::optional<hold> held = a.acquire("n");
    const auto first = held->token();
    std::this_thread::sleep_for(1500ms);  // longer than its lease
    EXPECT_TRUE(held->valid());
    EXPECT_FALSE(b.try_acquire("n"));
    held.reset();
    const hold next = b.acquire("n");
    EXPECT_GT(next.token(), first);
}

// ---- M2: SELECT ... FOR UPDATE in a transaction.

class mysql_printed_for_update : public mysql_printed {
protected:
    void SetUp() override {
        mysql_printed::SetUp();
        make("CREATE TABLE locks(name VARCHAR(64) PRIMARY KEY) ENGINE=InnoDB");
    }
    static unsigned take(session& by) {
        if (const unsigned failed = by.run("START TRANSACTION")) return failed;
        return by.run("SELECT name FROM locks WHERE name = 'n' FOR UPDATE");
    }
};

// Gaps do not exclude each other; what follows is a deadlock.
TEST_F(mysql_printed_for_update, the_first_use_of_a_missing_row_lets_two_in_and_then_deadlocks) {
    session a = connect();
    session b = connect();
    ASSERT_EQ(take(a), 0u);
    ASSERT_EQ(take(b), 0u) << "both are inside";
    auto first = std::async(std::launch::async, [&] { return a.run("INSERT INTO locks VALUES('n')"); });
    ASSERT_TRUE(waits(a));
    const unsigned second = b.run("INSERT INTO locks VALUES('n')");
    EXPECT_TRUE(first.get() == deadlock || second == deadlock);
}

TEST_F(mysql_printed_for_update, a_wait_ends_when_the_server_likes_and_not_when_the_caller_does) {
    make("INSERT INTO locks VALUES('n')");
    session a = connect();
    session b = connect();
    ASSERT_EQ(b.run("SET SESSION innodb_lock_wait_timeout = 1"), 0u);  // 50 by default
    ASSERT_EQ(take(a), 0u);
    EXPECT_EQ(take(b), waited_too_long);
}

TEST_F(mysql_printed_for_update, whoever_comes_in_again_on_another_connection_waits_for_itself) {
    make("INSERT INTO locks VALUES('n')");
    session outer = connect();
    session inner = connect();  // as a pool hands out
    ASSERT_EQ(inner.run("SET SESSION innodb_lock_wait_timeout = 1"), 0u);
    ASSERT_EQ(take(outer), 0u);
    EXPECT_EQ(take(inner), waited_too_long);
}

TEST_F(mysql_printed_for_update, each_waiter_takes_a_connection_until_there_are_none) {
    make("INSERT INTO locks VALUES('n')");
    make("CREATE OR REPLACE USER few@'127.0.0.1' IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS 3; GRANT ALL ON " +
         database_ + ".* TO few@'127.0.0.1'");
    session holder = connect("few");
    session waiters[2] = {connect("few"), connect("few")};
    ASSERT_EQ(take(holder), 0u);
    std::vector<std::future<unsigned>> all;
    for (session& one : waiters) all.push_back(std::async(std::launch::async, [&] { return take(one); }));
    for (session& one : waiters) EXPECT_TRUE(waits(one));
    EXPECT_EQ(connect("few").refused(), too_many_of_this_user) << "not even for what needs no lock";
    server_->run("KILL USER few");
    for (auto& one : all) EXPECT_NE(one.get(), 0u);
}

// ---- M3: a version that must not have changed.

class mysql_printed_version : public mysql_printed {
protected:
    void SetUp() override {
        mysql_printed::SetUp();
        make("CREATE TABLE stock(id INT, n INT, version INT) ENGINE=InnoDB; CREATE TABLE mails(n INT) ENGINE=InnoDB");
    }
    static int read(session& by) {
        by.run("SELECT version FROM stock WHERE id = 1");
        return by.value().empty() ? 0 : std::stoi(by.value());
    }
    static bool write(session& by, int version, const std::string& change = "n = n - 1") {
        by.run("UPDATE stock SET " + change +
               ", version = version + 1 WHERE id = 1 AND version = " + std::to_string(version));
        return by.changed() == 1;
    }
};

TEST_F(mysql_printed_version, the_first_use_without_a_row_never_ends_and_guessing_one_loses_an_update) {
    session a = connect();
    session b = connect();
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(write(a, read(a))) << "in a loop it would burn a processor for ever";
    // "So insert it if nothing was found."
    ASSERT_EQ(read(a), 0);
    ASSERT_EQ(read(b), 0);
    a.run("INSERT INTO stock VALUES(1, 9, 1)");
    b.run("INSERT INTO stock VALUES(1, 9, 1)");
    a.run("SELECT SUM(n) FROM stock");
    EXPECT_EQ(a.value(), "18") << "two rows, each believed to be the only one";
}

TEST_F(mysql_printed_version, what_a_loser_did_on_the_way_stays) {
    make("INSERT INTO stock VALUES(1, 1, 0)");
    session a = connect();
    session b = connect();
    const int seen_by_a = read(a);
    const int seen_by_b = read(b);
    for (session* one : {&a, &b}) one->run("INSERT INTO mails VALUES(1)");  // "your order is on its way"
    EXPECT_TRUE(write(a, seen_by_a));
    EXPECT_FALSE(write(b, seen_by_b));
    a.run("SELECT COUNT(*) FROM mails");
    EXPECT_EQ(a.value(), "2") << "for the one thing that was there";
}

TEST_F(mysql_printed_version, ours_makes_the_row_and_undoes_the_loser_s_work) {
    make("INSERT INTO stock VALUES(1, 1, 0)");
    session a = connect();
    session b = connect();
    int attempts = 0;
    const auto order = [&](MYSQL* on) { mysql_query(on, "INSERT INTO mails VALUES(1)"); };
    EXPECT_EQ(mortise::sql::change_if_unchanged(a.get(), "n",
                                                [&](MYSQL* on, std::uint64_t) {
                                                    order(on);
                                                    if (++attempts == 1)
                                                        mortise::sql::change_if_unchanged(
                                                            b.get(), "n",
                                                            [&](MYSQL* other, std::uint64_t) { order(other); });
                                                })
                  .attempts,
              2u);
    a.run("SELECT COUNT(*) FROM mails");
    EXPECT_EQ(a.value(), "2") << "one for each of the two that were made, none for the attempt that lost";
}

// ---- ours, under eight processes

struct visits {
    std::atomic<int> inside{0};
    std::atomic<int> overlaps{0};
    std::atomic<int> entered{0};
    std::atomic<std::uint64_t> last{0};
    std::atomic<int> disorders{0};
    std::atomic<int> attempts{0};

    void enter(std::uint64_t token) {
        if (inside.fetch_add(1) != 0) ++overlaps;
        if (last.exchange(token) >= token) ++disorders;
        ++entered;
        inside.fetch_sub(1);
    }
};

class mysql_ours : public mysql_printed {
protected:
    static constexpr int processes = 8;
    static int acquisitions(int usual) { return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr ? 10'000 : usual; }

    template <class Work>
    void crowd(int times, Work work) {
        std::vector<testing::child> all;
        for (int i = 0; i < processes; ++i)
            all.emplace_back([&] {
                work(times / processes);
                return 0;
            });
        for (testing::child& one : all) EXPECT_EQ(one.wait(95s), 0);
        EXPECT_EQ(seen_->entered, times / processes * processes);
        EXPECT_EQ(seen_->overlaps, 0);
        EXPECT_EQ(seen_->disorders, 0);
    }
    void crowd_of_clients(const std::string& strategy) {
        crowd(acquisitions(400), [&](int times) {
            client locks{url_ + "?strategy=" + strategy};
            for (int i = 0; i < times; ++i) {
                const hold held = locks.acquire("n", {.wait = 90s});
                seen_->enter(held.token().value());
            }
        });
    }
    testing::shared_page<visits> seen_;
};

TEST_F(mysql_ours, rows_let_one_in_at_a_time) {
    crowd_of_clients("row");
}
TEST_F(mysql_ours, rows_that_are_locked_let_one_in_at_a_time) {
    crowd_of_clients("for_update");
}
TEST_F(mysql_ours, named_locks_let_one_in_at_a_time) {
    crowd_of_clients("get_lock");
}
TEST_F(mysql_ours, versions_let_one_in_at_a_time) {
    crowd(acquisitions(200), [&](int times) {
        session mine = connect();
        mortise::sql::version_lock lock{mine.get(), "n", 60s, {.attempts = 1'000'000, .longest_pause = 5ms}};
        for (int i = 0; i < times; ++i) {
            lock.lock();
            seen_->enter(lock.token());
            if (!lock.unlock()) throw std::runtime_error("lost");
        }
    });
}

TEST_F(mysql_ours, no_update_of_a_contended_counter_is_lost_by_versions) {
    make("CREATE TABLE counter(n INT) ENGINE=InnoDB; INSERT INTO counter VALUES(0)");
    const int times = acquisitions(200);
    crowd(times, [&](int each) {
        session mine = connect();
        for (int i = 0; i < each; ++i) {
            const auto made = mortise::sql::change_if_unchanged(
                mine.get(), "counter",
                [&](MYSQL*, std::uint64_t) {
                    if (mine.run("SELECT n FROM counter") != 0) throw std::runtime_error(mysql_error(mine.get()));
                    if (mine.run("UPDATE counter SET n = " + std::to_string(std::stoi(mine.value()) + 1)) != 0)
                        throw std::runtime_error(mysql_error(mine.get()));
                },
                {.attempts = 1'000'000, .longest_pause = 5ms});
            seen_->attempts += static_cast<int>(made.attempts);
            ++seen_->entered;
        }
    });
    EXPECT_EQ(server_->run("SELECT n FROM counter", database_), std::to_string(times / processes * processes));
    const double per_success = static_cast<double>(seen_->attempts) / seen_->entered;
    std::cout << "attempts per success: " << per_success << "\n";
    EXPECT_GE(per_success, 1);
}

}  // namespace
}  // namespace mortise::inline v0::stores::mysql
