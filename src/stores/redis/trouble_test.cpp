// What is said to those who get something wrong: where it is, what it is, what to do. Never a secret, and never late where
// waiting does not help.
#include "stores/redis/names.hpp"
#include "stores/redis/servers/complaint.hpp"
#include "stores/redis/servers/scripted.hpp"
#include "stores/redis/servers/single.hpp"

#include <mortise/client.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

using namespace std::chrono_literals;
using servers::canary;
using servers::complaint;
using servers::complaint_of;
using servers::scripted;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// All that a doctor says, in one string.
std::string doctors_words(const std::string& url, client_options options = {}) {
    client locks{url, options};
    std::error_code ec;
    std::string all;
    for (const finding& one : locks.check(ec))
        all += std::string(to_string(one.is)) + " " + one.what + " -> " + one.remedy + "\n";
    EXPECT_FALSE(ec) << ec.message();
    return all;
}

void expect_final(const complaint& heard, errc code, const std::string& where, const std::string& says) {
    EXPECT_EQ(heard.code, code) << heard.what;
    EXPECT_LT(heard.after, servers::long_patience / 2) << heard.what;
    EXPECT_TRUE(heard.readable()) << heard.what;
    EXPECT_THAT(heard.what, AllOf(HasSubstr("lock 'orders'"), HasSubstr(where), HasSubstr(says)));
}

std::string with_secret(const std::string& address) {
    return "redis://ann:" + std::string(canary) + "@" + address;
}

TEST(redis_in_trouble, a_wait_that_ends_before_anybody_answered_says_what_was_in_the_way) {
    client locks{"redis://127.0.0.1:1"};
    const attempt none = locks.try_acquire("orders", {.wait = 1500ms});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.reason(), errc::unreachable);
    EXPECT_THAT(none.refusal().describe(), HasSubstr("the store did not answer: 127.0.0.1:1: Connection refused"));
}

TEST(redis_in_trouble, a_wrong_password_and_a_missing_one) {
    servers::single on;
    const std::string where = on.node().address();
    on.node().command({"config", "set", "requirepass", "right"});
    for (const std::string& url : {with_secret(where), "redis://:" + std::string(canary) + "@" + where}) {
        expect_final(complaint_of(url), errc::denied, where, "wrong user or password");
        EXPECT_THAT(doctors_words(url),
                    AllOf(HasSubstr("problem " + where + ": wrong user or password; see the address"),
                          Not(HasSubstr("is it running")), Not(HasSubstr(canary))));
    }
    expect_final(complaint_of("redis://" + where), errc::denied, where,
                 "a password is needed: redis://user:password@host");
    expect_final(complaint_of("redis://:right@" + where + "/99"), errc::unsupported, where,
                 "has no database 99; take a lower one, or raise databases in its redis.conf");
    client locks{"redis://:right@" + where};
    EXPECT_TRUE(locks.try_acquire("n"));
}

TEST(redis_in_trouble, a_server_that_speaks_something_else) {
    const scripted web{"HTTP/1.1 400 Bad Request\r\n\r\n"};
    expect_final(complaint_of(with_secret(web.address())), errc::unreachable, web.address(), "is the port right?");
    EXPECT_THAT(doctors_words(with_secret(web.address())),
                AllOf(HasSubstr("problem " + web.address()), Not(HasSubstr(canary))));
    const scripted alert{std::string("\x15\x03\x03\x00\x02\x02\x28", 7)};
    expect_final(complaint_of(with_secret(alert.address())), errc::unreachable, alert.address(),
                 "If it speaks TLS, write rediss:// or tls=1");
    const scripted polite{"+hello to you\r\n"};
    expect_final(complaint_of(with_secret(polite.address())), errc::unreachable, polite.address(), "HELLO");
}

TEST(redis_in_trouble, a_server_that_is_too_old) {
    const scripted old{"%2\r\n$7\r\nversion\r\n$5\r\n6.2.7\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"};
    expect_final(complaint_of(with_secret(old.address())), errc::unsupported, old.address(),
                 "is Redis 6.2.7, and 7.0 or newer is needed");
    const scripted ancient{"-ERR unknown command `HELLO`, with args beginning with: `3`\r\n"};
    expect_final(complaint_of(with_secret(ancient.address())), errc::unsupported, ancient.address(),
                 "is no Redis 7.0 or newer");
}

// Two such servers would keep the same name twice.
TEST(redis_in_trouble, a_server_that_is_in_no_cluster) {
    servers::single on;
    const std::string url = "redis+cluster://" + on.node().address();
    const std::string says = "is no node of a cluster; write redis://";
    expect_final(complaint_of(url), errc::unsupported, on.node().address(), says);
    EXPECT_THAT(doctors_words(url), HasSubstr("problem " + on.node().address() + ": " + says));
}

// Nothing is known of it, so the client goes on trying for as long as it was told to.
TEST(redis_in_trouble, a_server_that_says_nothing_or_is_not_there) {
    const scripted silent{""};
    const scripted rude{"", true};
    const auto tried = [](const std::string& address) {
        complaint heard = complaint_of(with_secret(address) + "?timeout=200ms", {.patience = 3s});
        EXPECT_EQ(heard.code, errc::unreachable);
        EXPECT_TRUE(heard.readable()) << heard.what;
        EXPECT_LT(heard.after, 20s);
        EXPECT_THAT(heard.what, HasSubstr(address));
        return heard.what;
    };
    EXPECT_THAT(tried(silent.address()), HasSubstr("has not answered for 200 ms"));
    EXPECT_THAT(tried(rude.address()), HasSubstr("before it said anything; if it speaks TLS"));
    EXPECT_GT(rude.visits(), 2) << "it may have been starting";
    EXPECT_THAT(tried("127.0.0.1:" + std::to_string(testing::free_port())), HasSubstr("Connection refused"));
    EXPECT_THAT(doctors_words(with_secret(silent.address()) + "?timeout=200ms"),
                AllOf(HasSubstr("problem " + silent.address() + ": has not answered"), HasSubstr("-> is it running"),
                      Not(HasSubstr(canary))));
    EXPECT_THAT(doctors_words(with_secret(rude.address())),
                AllOf(HasSubstr("before it said anything; if it speaks TLS"), HasSubstr("-> \n")));
}

TEST(redis_in_trouble, a_replica_instead_of_its_master) {
    servers::single master;
    servers::single replica{{"replicaof 127.0.0.1 " + std::to_string(master.node().port())}};
    const complaint heard = complaint_of("redis://" + replica.node().address(), {.patience = 3s});
    EXPECT_EQ(heard.code, errc::unreachable) << "it may become the master any moment";
    EXPECT_TRUE(heard.readable()) << heard.what;
    EXPECT_THAT(heard.what, AllOf(HasSubstr(replica.node().address()), HasSubstr("is a replica"),
                                  HasSubstr("give the master's address")));
    EXPECT_THAT(doctors_words("redis://" + replica.node().address()), HasSubstr("or its sentinels' -> \n"));
}

TEST(redis_in_trouble, keys_of_others_are_left_alone) {
    servers::single on;
    const std::string key = key_of("mortise", "orders");
    const std::string url = "redis://" + on.node().address();
    on.node().command({"set", key, "precious"});
    expect_final(complaint_of(url), errc::kind_mismatch, "redis://", "not a lock of ours, and was left alone");
    EXPECT_EQ(on.node().command({"get", key}), "precious");
    on.node().command({"del", key});
    for (const char* field : {"price", "."}) {
        on.node().command({"hset", key, field, "precious"});
        expect_final(complaint_of(url), errc::kind_mismatch, "redis://", "use another name or the option prefix");
        EXPECT_EQ(on.node().command({"hget", key, field}), "precious");
        client locks{url};
        EXPECT_TRUE(locks.list().empty());
        on.node().command({"del", key});
    }
    client locks{url + "?prefix=elsewhere"};
    EXPECT_TRUE(locks.try_acquire("orders"));
}

// The secret stands in no word that the client keeps or gives.
TEST(redis_in_trouble, the_address_shows_no_secret) {
    client locks{with_secret("127.0.0.1:1")};
    EXPECT_THAT(locks.store(), AllOf(HasSubstr("ann:***@"), Not(HasSubstr(canary))));
}

}  // namespace
}  // namespace mortise::stores::redis
