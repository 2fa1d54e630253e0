// Faults: ended sessions, silent networks, servers that restart, are replicas, poolers or absent.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/postgres/lock_key.hpp"
#include "stores/postgres/servers/suite.hpp"
#include "support/loopback.hpp"

#include <mortise/error.hpp>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mortise::inline v0::stores::postgres {
namespace {

using namespace servers;
using testing::tcp_proxy;
using testing::way;

class postgres_trouble : public on_one_server {
protected:
    console psql_ = node().open_console();

    std::string key(const std::string& name) const { return std::to_string(lock_key(schema_, name)); }
    std::string sessions(const std::string& name, bool granted) const {
        return "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted = " +
               std::string(granted ? "true" : "false") +
               " AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = " + key(name);
    }
    bool waits(const std::string& name, std::size_t count = 1) {
        return psql_.column(sessions(name, false)).size() == count;
    }
};

TEST_F(postgres_trouble, an_ended_session_is_a_lost_hold_and_the_next_has_a_larger_token) {
    client locks{url()};
    client others{url()};
    const hold mine = locks.acquire("n");
    auto next = std::async(std::launch::async, [&] { return others.try_acquire("n", {.wait = plenty}); });
    ASSERT_TRUE(eventually([&] { return waits("n"); }));
    psql_.ask("SELECT pg_terminate_backend(" + psql_.ask(sessions("n", true)) + ")");
    EXPECT_TRUE(eventually([&] { return !mine.valid() && mine.lost().stop_requested(); }));
    attempt theirs = next.get();
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_GT(theirs->token(), mine.token());
    EXPECT_TRUE(locks.try_acquire("m", {.wait = plenty})) << "the client goes on with a new session";
}

TEST_F(postgres_trouble, a_waiter_whose_session_is_ended_is_served_all_the_same) {
    client locks{url()};
    client others{url()};
    hold mine = locks.acquire("n");
    auto next = std::async(std::launch::async, [&] { return others.try_acquire("n", {.wait = plenty}); });
    ASSERT_TRUE(eventually([&] { return waits("n"); }));
    const std::string pid = psql_.ask(sessions("n", false));
    psql_.ask("SELECT pg_terminate_backend(" + pid + ")");
    ASSERT_TRUE(eventually([&] { return waits("n") && psql_.ask(sessions("n", false)) != pid; }));
    mine.release();
    const attempt theirs = next.get();
    EXPECT_TRUE(theirs) << theirs.refusal().describe();
}

TEST_F(postgres_trouble, a_killed_waiter_is_not_in_the_way_and_a_killed_holder_neither) {
    client locks{url()};
    hold mine = locks.acquire("n");
    const std::string where = url();
    const auto in_child = [&] {
        const pid_t child = ::fork();
        if (child != 0) return child;
        client its{where};
        const attempt got = its.try_acquire("n", {.wait = plenty});
        static_cast<void>(got);
        ::pause();
        ::_exit(0);
    };
    const pid_t first = in_child();
    ASSERT_TRUE(eventually([&] { return waits("n"); }, plenty));
    auto next = std::async(std::launch::async, [&] { return client{where}.try_acquire("n", {.wait = plenty}); });
    ASSERT_TRUE(eventually([&] { return waits("n", 2); }, plenty));
    ::kill(first, SIGKILL);
    ::waitpid(first, nullptr, 0);
    ASSERT_TRUE(eventually([&] { return waits("n", 1); }, plenty)) << "the server has noticed";
    mine.release();
    EXPECT_TRUE(next.get());
    const pid_t second = in_child();
    ASSERT_TRUE(eventually([&] { return !psql_.ask(sessions("n", true)).empty(); }, plenty));
    ::kill(second, SIGKILL);
    ::waitpid(second, nullptr, 0);
    EXPECT_TRUE(locks.try_acquire("n", {.wait = plenty}));
}

TEST_F(postgres_trouble, in_a_silent_network_a_hold_ends_before_the_server_gives_the_lock_away) {
    tcp_proxy network{node().port()};
    client locks{url_at(network.port(), "&session=3s")};
    client others{url("&session=3s")};
    const hold mine = locks.acquire("n");
    auto next = std::async(std::launch::async, [&] {
        attempt got = others.try_acquire("n", {.wait = plenty});
        return std::pair{std::move(got), mine.valid()};
    });
    ASSERT_TRUE(eventually([&] { return waits("n"); }));
    network.freeze();
    auto [theirs, valid] = next.get();
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_FALSE(valid);
    EXPECT_GT(theirs->token(), mine.token());
    network.thaw();
}

TEST_F(postgres_trouble, a_cut_connection_does_not_keep_the_lock_of_a_session_that_was_given_up) {
    tcp_proxy network{node().port()};
    client locks{url_at(network.port(), "&session=60s")};
    for (const way which : {way::to_client, way::to_server})
        for (const std::size_t bytes : {0u, 1u, 20u, 60u}) {
            ASSERT_TRUE(locks.try_acquire("first", {.wait = plenty}));
            network.cut_after(which, bytes);
            attempt got = locks.try_acquire("n", {.wait = plenty});
            ASSERT_TRUE(got) << got.refusal().describe();
            network.cut_after(which, bytes);
            static_cast<void>(got->release());
            EXPECT_TRUE(client{url()}.try_acquire("n", {.wait = plenty})) << bytes;
        }
}

TEST_F(postgres_trouble, a_server_that_restarts_ends_holds_and_serves_again) {
    client locks{url()};
    client others{url()};
    const hold mine = locks.acquire("n");
    auto next = std::async(std::launch::async, [&] { return others.try_acquire("n", {.wait = plenty}); });
    ASSERT_TRUE(eventually([&] { return waits("n"); }));
    node().stop();
    EXPECT_TRUE(eventually([&] { return !mine.valid(); }));
    node().start();
    attempt theirs = next.get();
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_GT(theirs->token(), mine.token());
}

// Locks that are waited for are on sessions of their own, so the server sees no circle; who set a time limit is told.
TEST_F(postgres_trouble, a_deadlock_of_two_clients_ends_with_their_time) {
    client a{url()};
    client b{url()};
    const hold first = a.acquire("x");
    const hold second = b.acquire("y");
    auto of_a = std::async(std::launch::async, [&] { return a.try_acquire("y", {.wait = 500ms}).reason(); });
    EXPECT_EQ(b.try_acquire("x", {.wait = 500ms}).reason(), errc::timed_out);
    EXPECT_EQ(of_a.get(), errc::timed_out);
    EXPECT_TRUE(first.valid());
    EXPECT_TRUE(second.valid());
}

TEST_F(postgres_trouble, that_the_server_has_no_session_left_is_said) {
    client setup{url()};
    ASSERT_TRUE(setup.try_acquire("n", {.wait = plenty}));
    psql_.ask("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 1");
    psql_.ask("GRANT USAGE ON SCHEMA \"" + schema_ + "\" TO few; GRANT USAGE ON SEQUENCE \"" + schema_ +
              "\".mortise_tokens TO few");
    const std::string address =
        "postgres://few:few@" + node().address() + "/postgres?strategy=advisory&schema=" + schema_;
    client first{address};
    const hold held = first.acquire("n");
    const attempt none = client{address, {.patience = 2s}}.try_acquire("m", {.wait = 10s});
    EXPECT_EQ(none.reason(), errc::unreachable) << "one may be free again soon: " << none.refusal().describe();
    EXPECT_NE(none.refusal().describe().find("53300"), std::string::npos) << none.refusal().describe();
    EXPECT_TRUE(held.valid());
}

TEST_F(postgres_trouble, what_the_server_refuses_is_named) {
    const auto refusal = [&](const std::string& address) {
        client locks{address, {.patience = 3s}};
        const attempt got = locks.try_acquire("n", {.wait = 5s});
        EXPECT_FALSE(got) << address;
        const std::string said = got.refusal().describe();
        EXPECT_EQ(said.find("wrong-secret"), std::string::npos) << said;
        return std::pair{got.reason(), said};
    };
    const std::string at = node().address();
    const auto [password, said] = refusal("postgres://postgres:wrong-secret@" + at + "/postgres?strategy=advisory");
    EXPECT_EQ(password, errc::denied) << said;
    EXPECT_NE(said.find("28P01"), std::string::npos) << said;
    const auto [database, named] = refusal("postgres://postgres:secret@" + at + "/nowhere?strategy=advisory");
    EXPECT_EQ(database, errc::unsupported) << named;
    EXPECT_NE(named.find("nowhere"), std::string::npos) << named;
    const auto [tls, why] = refusal(url("&tls=on&ca=/etc/hosts"));
    EXPECT_EQ(tls, errc::denied) << why;
}

TEST_F(postgres_trouble, a_replica_is_refused_by_name_and_the_primary_is_found) {
    const server replica{{.replica_of = &node()}};
    client locks{replica.url("strategy=advisory&schema=" + schema_)};
    const attempt got = locks.try_acquire("n", {.wait = 5s});
    EXPECT_EQ(got.reason(), errc::unsupported) << got.refusal().describe();
    EXPECT_NE(got.refusal().describe().find("is a replica"), std::string::npos) << got.refusal().describe();
    client both{"postgres://postgres:secret@" + replica.address() + "," + node().address() +
                "/postgres?strategy=advisory&schema=" + schema_};
    EXPECT_TRUE(both.try_acquire("n", {.wait = plenty}));
}

TEST_F(postgres_trouble, hostile_names_and_labels_are_only_names) {
    const std::string hostile = "'; DROP SCHEMA public CASCADE; -- \" \\ $1 %s \xf0\x9f\x94\x92";
    client locks{node().url("strategy=advisory&schema=a%22b'c")};
    const hold mine = locks.acquire(hostile, {.label = hostile});
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(client{node().url("strategy=advisory&schema=a%22b'c")}.try_acquire(hostile).reason(), errc::busy);
    EXPECT_EQ(psql_.ask("SELECT count(*) FROM pg_namespace WHERE nspname IN ('public', 'a\"b''c')"), "2");
}

// PgBouncer as Debian packages it.
TEST_F(postgres_trouble, a_pooler_is_refused) {
    if (!std::filesystem::exists("/usr/sbin/pgbouncer")) GTEST_SKIP() << "pgbouncer is not installed";
    const testing::server_group home;
    const std::uint16_t port = testing::free_port();
    std::ofstream{home / "users.txt"} << "\"postgres\" \"secret\"\n";
    std::ofstream{home / "pgbouncer.ini"} << "[databases]\npostgres = host=127.0.0.1 port=" << node().port()
                                          << "\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=" << port
                                          << "\nauth_type=scram-sha-256\nauth_file=" << (home / "users.txt")
                                          << "\npool_mode=transaction\nunix_socket_dir=\nuser=postgres\n";
    std::filesystem::permissions(home.directory(), std::filesystem::perms::all);
    testing::server_process pooler{home, {"/usr/sbin/pgbouncer", home / "pgbouncer.ini"}, home / "log"};
    client locks{node().url("strategy=advisory&schema=" + schema_, port)};
    const attempt got = locks.try_acquire("n", {.wait = plenty});
    EXPECT_EQ(got.reason(), errc::unsupported) << got.refusal().describe() << pooler.last_words();
    EXPECT_NE(got.refusal().describe().find("pooler"), std::string::npos) << got.refusal().describe();
}

}  // namespace
}  // namespace mortise::inline v0::stores::postgres
