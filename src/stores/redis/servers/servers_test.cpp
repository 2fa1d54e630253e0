// The servers that tests start: each arrangement gets ready, breaks where it is told to, comes back, and is gone afterwards.
#include "stores/redis/servers/cluster.hpp"
#include "stores/redis/servers/single.hpp"
#include "stores/redis/servers/with_sentinels.hpp"
#include "stores/redis/servers/with_tls.hpp"
#include "support/loopback.hpp"
#include "support/waiting.hpp"

#include <array>
#include <cstdio>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::eventually;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string output_of(const std::string& command) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out{::popen((command + " 2>&1").c_str(), "r"), ::pclose};
    std::string all;
    std::array<char, 4096> room;
    while (std::fgets(room.data(), room.size(), out.get()) != nullptr) all += room.data();
    return all;
}

pid_t pid_of(server& one) {
    return std::stoi(one.field({"info", "server"}, "process_id"));
}
bool none_runs(const std::vector<pid_t>& pids) {
    for (const pid_t one : pids)
        if (::kill(one, 0) == 0) return false;
    return true;
}
std::vector<pid_t> pids_of(fleet& all) {
    std::vector<pid_t> pids;
    for (const auto& one : all) pids.push_back(pid_of(*one));
    return pids;
}

TEST(one_server, answers_at_its_port_and_is_gone_afterwards) {
    std::vector<pid_t> pids;
    {
        single redis;
        pids.push_back(pid_of(redis.node()));
        EXPECT_EQ(redis.node().command({"set", "a", "b c"}), "OK");
        EXPECT_EQ(output_of("redis-cli -p " + std::to_string(redis.node().port()) + " get a"), "b c\n");
        EXPECT_EQ(redis.node().command({"mget", "a", "none", "a"}), "b c\n\nb c");
        EXPECT_THROW(redis.node().command({"get"}), std::runtime_error);
    }
    EXPECT_TRUE(none_runs(pids));
}

TEST(one_server, two_do_not_meet) {
    single one;
    single two;
    EXPECT_NE(one.node().port(), two.node().port());
    one.node().command({"set", "a", "1"});
    EXPECT_EQ(two.node().command({"exists", "a"}), "0");
}

TEST(one_server, a_port_that_is_taken_is_said_to_be) {
    single first;
    const mortise::testing::server_group home;
    server second{home, {.name = "redis", .port = first.node().port()}};
    EXPECT_THROW(second.await_ready(), mortise::testing::port_taken);
}

TEST(one_server, one_that_cannot_start_says_why) {
    try {
        single broken{{"no-such-directive yes"}};
        FAIL() << "it started";
    } catch (const std::runtime_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("no-such-directive"));
    }
}

TEST(one_server, forgets_when_it_is_restarted_unless_it_keeps_a_file) {
    for (const bool keeps : {false, true}) {
        single redis{keeps ? std::vector<std::string>{"appendonly yes", "appendfsync always"}
                           : std::vector<std::string>{}};
        const auto port = redis.node().port();
        redis.node().command({"set", "a", "b"});
        redis.node().kill();
        EXPECT_FALSE(redis.node().running());
        EXPECT_FALSE(redis.node().ready());
        redis.node().restart();
        EXPECT_EQ(redis.node().port(), port);
        EXPECT_EQ(redis.node().command({"exists", "a"}), keeps ? "1" : "0");
    }
}

TEST(one_server, stands_still_when_frozen) {
    single redis;
    redis.node().freeze();
    EXPECT_TRUE(redis.node().running());
    EXPECT_FALSE(redis.node().awake());
    redis.node().thaw();
    EXPECT_TRUE(redis.node().awake());
    EXPECT_TRUE(redis.node().ready());
}

class tls : public ::testing::Test {
protected:
    std::string cli(const std::string& authority, const std::string& command) {
        return output_of("redis-cli --no-auth-warning --tls --cacert " + authority + " -h localhost -p " +
                         std::to_string(redis_.node().port()) + " --user mortise --pass " + with_tls::password + " " +
                         command);
    }
    with_tls redis_{"resetkeys ~mortise:* resetchannels &mortise:* -@all +ping +get +set"};
};

TEST_F(tls, lets_its_user_in_with_the_rights_it_was_given) {
    EXPECT_EQ(cli(redis_.files().authority, "ping"), "PONG\n");
    EXPECT_EQ(cli(redis_.files().authority, "set mortise:a b"), "OK\n");
    EXPECT_THAT(cli(redis_.files().authority, "set other:a b"), HasSubstr("NOPERM"));
    EXPECT_THAT(cli(redis_.files().authority, "del mortise:a"), HasSubstr("NOPERM"));
}

TEST_F(tls, nobody_else_and_nothing_in_the_clear) {
    const std::string port = std::to_string(redis_.node().port());
    EXPECT_THAT(output_of("redis-cli --tls --cacert " + redis_.files().authority + " -p " + port + " ping"),
                HasSubstr("NOAUTH"));
    EXPECT_THAT(output_of("redis-cli -p " + port + " ping"), Not(HasSubstr("PONG")));
    EXPECT_THAT(cli(redis_.files().other_authority, "ping"), HasSubstr("certificate verify failed"));
}

TEST_F(tls, shows_the_certificate_it_is_told_to) {
    const auto verdict = [&](const std::string& as) {
        const std::string said = output_of("openssl s_client -verify_return_error -CAfile " + redis_.files().authority +
                                           " -connect " + redis_.node().address() + " " + as + " </dev/null");
        return said;
    };
    EXPECT_THAT(verdict("-verify_hostname localhost"), HasSubstr("Verification: OK"));
    EXPECT_THAT(verdict("-verify_ip 127.0.0.1"), HasSubstr("Verification: OK"));
    redis_.show(redis_.files().other_name);
    EXPECT_THAT(verdict("-verify_hostname localhost"), HasSubstr("ostname mismatch"));
    EXPECT_THAT(verdict("-verify_hostname another.example"), HasSubstr("Verification: OK"));
    redis_.show(redis_.files().expired);
    EXPECT_THAT(verdict("-verify_hostname localhost"), HasSubstr("certificate has expired"));
}

TEST_F(tls, asks_for_certificates_when_it_is_told_to) {
    const certificates& files = redis_.files();
    redis_.demand_certificates();
    EXPECT_THAT(cli(files.authority, "ping"), Not(HasSubstr("PONG")));
    EXPECT_EQ(cli(files.authority + " --cert " + files.client.certificate + " --key " + files.client.key, "ping"),
              "PONG\n");
}

TEST(sentinels, name_another_master_when_theirs_is_killed_or_frozen) {
    std::vector<pid_t> pids;
    {
        with_sentinels redis;
        pids = pids_of(redis.nodes());
        for (const pid_t one : pids_of(redis.sentinels())) pids.push_back(one);
        server* const first = redis.master();
        ASSERT_NE(first, nullptr);
        EXPECT_EQ(first, redis.nodes().front().get());
        EXPECT_EQ(redis.keepers(), std::vector<server*>{first});
        first->command({"set", "a", "b"});
        for (const auto& one : redis.nodes())
            EXPECT_TRUE(eventually([&] { return one->command({"get", "a"}) == "b"; }));

        first->kill();
        server& second = redis.await_master_other_than(*first);
        EXPECT_EQ(second.command({"set", "a", "c"}), "OK");
        first->restart();
        redis.await_settled();
        EXPECT_EQ(first->field({"info", "replication"}, "role"), "slave");

        second.freeze();
        server& third = redis.await_master_other_than(second);
        EXPECT_NE(&third, &second);
        second.thaw();
        redis.await_settled();
        EXPECT_EQ(third.command({"get", "a"}), "c");
        EXPECT_EQ(redis.master(), &third);
    }
    EXPECT_TRUE(none_runs(pids));
}

constexpr std::uint16_t slot = 5;

TEST(clusters, promote_a_replica_when_a_master_is_killed_or_frozen) {
    std::vector<pid_t> pids;
    {
        cluster redis;
        pids = pids_of(redis.nodes());
        server* const first = redis.master_of(slot);
        ASSERT_EQ(first, redis.nodes().front().get());
        EXPECT_THAT(redis.keepers(), ElementsAre(first, redis.nodes()[1].get(), redis.nodes()[2].get()));

        first->kill();
        server& second = redis.await_master_other_than(*first, slot);
        EXPECT_EQ(&second, redis.nodes()[cluster::masters].get());
        first->restart();
        redis.await_settled();
        EXPECT_EQ(redis.master_of(slot), &second);

        second.freeze();
        EXPECT_EQ(&redis.await_master_other_than(second, slot), first);
        second.thaw();
        redis.await_settled();
        EXPECT_EQ(redis.master_of(slot), first);
        EXPECT_EQ(redis.keepers().size(), cluster::masters);
    }
    EXPECT_TRUE(none_runs(pids));
}

TEST(clusters, a_slot_moves_with_its_keys) {
    cluster redis;
    server& from = *redis.nodes()[0];
    server& to = *redis.nodes()[1];
    from.command({"set", "{b}1", "x"});
    const auto moved = static_cast<std::uint16_t>(std::stoi(from.command({"cluster", "keyslot", "{b}1"})));
    redis.begin_move(moved, to);
    EXPECT_EQ(redis.master_of(moved), &from);
    EXPECT_EQ(from.command({"get", "{b}1"}), "x");
    EXPECT_THROW(from.command({"get", "{b}2"}), std::runtime_error) << "which may be there already: ASK";
    redis.end_move(moved, to);
    EXPECT_EQ(redis.master_of(moved), &to);
    EXPECT_EQ(to.command({"get", "{b}1"}), "x");
    EXPECT_THROW(from.command({"get", "{b}1"}), std::runtime_error) << "MOVED";
    redis.await_settled();
}

}  // namespace
}  // namespace mortise::stores::redis::servers
