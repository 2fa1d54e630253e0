// Work in the same transaction as the lock.
#include "stores/postgres/servers/suite.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/sql/with_transaction.hpp>

#include <memory>
#include <stdexcept>
#include <thread>

#include <libpq-fe.h>

namespace mortise::inline v0::stores::postgres {
namespace {

using namespace servers;
using mortise::sql::with_transaction;

class postgres_transactions : public on_one_server {
protected:
    using connection = std::unique_ptr<PGconn, void (*)(PGconn*)>;
    static connection open() {
        const std::string options =
            "host=127.0.0.1 user=postgres password=secret dbname=postgres sslmode=disable port=" +
            std::to_string(node().port());
        return {PQconnectdb(options.c_str()), PQfinish};
    }
    static std::string run(PGconn* on, const std::string& statement) {
        const std::unique_ptr<PGresult, void (*)(PGresult*)> got{PQexec(on, statement.c_str()), PQclear};
        return PQntuples(got.get()) > 0 ? PQgetvalue(got.get(), 0, 0) : "";
    }
    template <class Work>
    errc failure(PGconn* on, Work work, mortise::sql::transaction_options options = {}) const {
        options.schema = schema_;
        try {
            with_transaction(on, "n", work, options);
        } catch (const error& e) {
            return static_cast<errc>(e.code().value());
        }
        return errc{};
    }
};

TEST_F(postgres_transactions, no_update_of_a_contended_counter_is_lost) {
    console psql = node().open_console();
    psql.ask("CREATE TABLE counter AS SELECT 0 AS n");
    constexpr int threads = 4;
    constexpr int times = 100;
    {
        std::vector<std::jthread> crowd;
        for (int i = 0; i < threads; ++i)
            crowd.emplace_back([&] {
                const connection mine = open();
                for (int k = 0; k < times; ++k)
                    with_transaction(mine.get(), "counter", [&](PGconn* on) {
                        const int n = std::stoi(run(on, "SELECT n FROM counter"));
                        run(on, "UPDATE counter SET n = " + std::to_string(n + 1));
                    });
            });
    }
    EXPECT_EQ(psql.ask("SELECT n FROM counter"), std::to_string(threads * times));
}

TEST_F(postgres_transactions, what_is_thrown_or_fails_changes_nothing) {
    console psql = node().open_console();
    psql.ask("CREATE TABLE things (n int)");
    const connection mine = open();
    EXPECT_THROW(with_transaction(mine.get(), "n",
                                  [](PGconn* on) {
                                      run(on, "INSERT INTO things VALUES (1)");
                                      throw std::runtime_error("no");
                                  }),
                 std::runtime_error);
    EXPECT_EQ(failure(mine.get(),
                      [](PGconn* on) {
                          run(on, "INSERT INTO things VALUES (1)");
                          run(on, "no such statement");
                      }),
              errc::lost);
    EXPECT_EQ(failure(mine.get(), [](PGconn* on) { run(on, "COMMIT"); }), errc::lost);
    EXPECT_EQ(psql.ask("SELECT count(*) FROM things"), "0");
    EXPECT_EQ(with_transaction(mine.get(), "n", [](PGconn*) { return 5; }), 5) << "and the connection is as it was";
}

TEST_F(postgres_transactions, it_excludes_holders_of_the_store_and_they_it) {
    client locks{url()};
    hold held = locks.acquire("n");
    const connection mine = open();
    EXPECT_EQ(failure(mine.get(), [](PGconn*) {}, {.wait = 0ms}), errc::timed_out);
    EXPECT_EQ(failure(mine.get(), [](PGconn*) {}, {.wait = 50ms}), errc::timed_out);
    held.release();
    EXPECT_EQ(failure(mine.get(), [&](PGconn*) { EXPECT_EQ(locks.try_acquire("n").reason(), errc::busy); }), errc{});
    EXPECT_TRUE(locks.try_acquire("n", {.wait = plenty}));
}

TEST_F(postgres_transactions, a_connection_that_is_ended_has_changed_nothing) {
    console psql = node().open_console();
    psql.ask("CREATE TABLE kept (n int)");
    const connection mine = open();
    EXPECT_EQ(failure(mine.get(),
                      [&](PGconn* on) {
                          run(on, "INSERT INTO kept VALUES (1)");
                          psql.ask("SELECT pg_terminate_backend(" + std::to_string(PQbackendPID(on)) + ")");
                      }),
              errc::unreachable);
    EXPECT_EQ(psql.ask("SELECT count(*) FROM kept"), "0");
    EXPECT_EQ(failure(mine.get(), [](PGconn*) {}), errc::unreachable);
}

// Two rows that are changed in opposite orders: the server ends one of the two.
TEST_F(postgres_transactions, a_deadlock_of_its_work_is_a_named_error) {
    console psql = node().open_console();
    psql.ask("CREATE TABLE pair AS SELECT k, 0 AS n FROM generate_series(1, 2) AS k");
    const connection mine = open();
    const connection other = open();
    run(other.get(), "BEGIN");
    run(other.get(), "SET LOCAL deadlock_timeout = '60s'");  // mine is to notice
    run(other.get(), "UPDATE pair SET n = n + 1 WHERE k = 2");
    std::thread second;
    EXPECT_EQ(failure(mine.get(),
                      [&](PGconn* on) {
                          run(on, "UPDATE pair SET n = n + 1 WHERE k = 1");
                          second = std::thread{[&] { run(other.get(), "UPDATE pair SET n = n + 1 WHERE k = 1"); }};
                          EXPECT_TRUE(eventually(
                              [&] { return psql.ask("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"; }));
                          run(on, "UPDATE pair SET n = n + 1 WHERE k = 2");
                      }),
              errc::lost);
    second.join();
    run(other.get(), "COMMIT");
    EXPECT_EQ(psql.ask("SELECT sum(n) FROM pair"), "2");
}

TEST_F(postgres_transactions, a_connection_in_a_transaction_is_refused) {
    const connection mine = open();
    run(mine.get(), "BEGIN");
    EXPECT_EQ(failure(mine.get(), [](PGconn*) {}), errc::invalid_option);
}

}  // namespace
}  // namespace mortise::inline v0::stores::postgres
