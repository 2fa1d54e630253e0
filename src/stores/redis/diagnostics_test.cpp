// What the doctor finds, and what strict clients do about it.
#include "stores/redis/diagnostics.hpp"

#include "stores/redis/rights.hpp"
#include "stores/redis/servers/complaint.hpp"
#include "stores/redis/servers/single.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

using namespace std::chrono_literals;
using servers::complaint;
using servers::complaint_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string line(const finding& one) {
    return std::string(to_string(one.is)) + " " + one.what + " -> " + one.remedy;
}

std::vector<std::string> lines(const std::vector<finding>& found) {
    std::vector<std::string> all;
    for (const finding& one : found) {
        EXPECT_THAT(one.what, Not(HasSubstr("\n")));
        all.push_back(line(one));
    }
    return all;
}

server_report healthy() {
    return {.where = "h:6379",
            .info = server_info::of(
                "# Server\r\nredis_version:7.0.15\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
                "aof_enabled:1\r\nconnected_slaves:0\r\n"),
            .appendfsync = "always",
            .clock_ahead = 3ms,
            .latency = 80us};
}

std::vector<std::string> judged(const server_report& seen, const settings& config = {}) {
    return lines(diagnose(config, seen));
}

// Another line of INFO.
server_report with(const std::string& more) {
    server_report seen = healthy();
    std::string info = "redis_version:7.0.15\r\nrole:master\r\n";
    for (const char* field : {"maxmemory", "maxmemory_policy", "aof_enabled", "connected_slaves"})
        info += std::string(field) + ":" + std::string(seen.info->text(field)) + "\r\n";
    seen.info = server_info::of(info + more);
    return seen;
}

TEST(redis_facts, are_read_line_by_line) {
    const server_info info = server_info::of(
        "txt:# Memory\r\nmaxmemory:1000\r\nmaxmemory_policy:allkeys-lru\r\n\r\n# X\r\nempty:\r\nodd\r\n:x\r\na:b:c");
    EXPECT_EQ(info.number("maxmemory"), 1000);
    EXPECT_EQ(info.text("maxmemory_policy"), "allkeys-lru");
    EXPECT_EQ(info.text("empty"), "");
    EXPECT_TRUE(info.has("empty"));
    EXPECT_FALSE(info.has("odd"));
    EXPECT_EQ(info.number("absent"), 0);
    EXPECT_EQ(info.text("a"), "b:c");
}

TEST(redis_facts, a_policy_breaks_a_promise_only_where_memory_is_limited) {
    const auto told = [](const char* limit, const char* policy) {
        return server_info::of(std::string("maxmemory:") + limit + "\nmaxmemory_policy:" + policy +
                               "\naof_enabled:1\n");
    };
    for (const char* policy : {"allkeys-lru", "volatile-lru", "volatile-ttl", "allkeys-random", "volatile-lfu"}) {
        EXPECT_THAT(broken_promise(told("1000", policy)), AllOf(HasSubstr(policy), HasSubstr("noeviction")));
        EXPECT_EQ(broken_promise(told("0", policy)), "");
    }
    EXPECT_EQ(broken_promise(told("1000", "noeviction")), "");
    EXPECT_THAT(broken_promise(server_info::of("maxmemory:0\nmaxmemory_policy:noeviction\naof_enabled:0\n")),
                HasSubstr("appendonly is no"));
    EXPECT_NE(broken_promise(server_info::of("")), "") << "what is not known is not promised";
}

TEST(redis_diagnostics, nothing_is_wrong_with_a_healthy_server) {
    for (const std::string& one : judged(healthy()))
        EXPECT_THAT(one,
                    ::testing::AnyOf(::testing::StartsWith("good h:6379: "), ::testing::StartsWith("note h:6379: ")));
    EXPECT_THAT(judged(healthy()), Contains(HasSubstr("Redis 7.0.15, master, answers within 80 us")));
}

TEST(redis_diagnostics, every_flaw_is_named_with_its_remedy) {
    EXPECT_THAT(judged(with("maxmemory:5\nmaxmemory_policy:allkeys-lru\n")),
                Contains(AllOf(HasSubstr("warning h:6379: maxmemory-policy is allkeys-lru"),
                               HasSubstr("throws locks away"), HasSubstr("CONFIG SET maxmemory-policy noeviction"))));
    EXPECT_THAT(judged(with("aof_enabled:0\n")),
                Contains(AllOf(HasSubstr("warning h:6379: appendonly is no"), HasSubstr("CONFIG SET appendonly yes"))));
    EXPECT_THAT(judged(with("rdb_last_bgsave_status:err\n")),
                Contains(HasSubstr("problem h:6379: cannot write its data to disk")));
    EXPECT_THAT(judged(with("connected_slaves:2\n")),
                Contains(AllOf(HasSubstr("note h:6379: 2 replicas"), HasSubstr("wait=1"))));
    EXPECT_THAT(judged(with("connected_slaves:1\nmin_slaves_good_slaves:1\n")),
                Contains(HasSubstr("good h:6379: 1 replica, and no writes")));
    settings durable;
    durable.replicas = 2;
    EXPECT_THAT(judged(with("connected_slaves:1\n"), durable),
                Contains(HasSubstr("problem h:6379: 1 replica, and wait=2 demands more")));

    server_report seen = healthy();
    seen.appendfsync = "everysec";
    EXPECT_THAT(judged(seen), Contains(HasSubstr("note h:6379: appendfsync is everysec")));
    seen.appendfsync = "no";
    EXPECT_THAT(judged(seen), Contains(HasSubstr("warning h:6379: appendfsync is no")));
    seen.clock_ahead = -90s;
    EXPECT_THAT(judged(seen), Contains(AllOf(HasSubstr("note h:6379: its clock is"), HasSubstr("behind ours"))));
    seen.set_back = {.name = "orders", .ahead = 1s};
    EXPECT_THAT(judged(seen), Not(Contains(HasSubstr("set back"))))
        << "masters that follow each other differ by as much";
    seen.set_back = {.name = "orders", .ahead = 20s};
    EXPECT_THAT(judged(seen), Contains(AllOf(HasSubstr("warning h:6379: its clock was set back: the lock 'orders' was"),
                                             HasSubstr("20 s ahead of it"), HasSubstr("never step it"))));
    seen.may_flush = true;
    EXPECT_THAT(judged(seen), Contains(AllOf(HasSubstr("note h:6379: the user 'default' may do more"),
                                             HasSubstr("ACL SETUSER mortise"))));
    seen.takes_no_claims = "Redis is out of memory";
    EXPECT_THAT(judged(seen), Contains(HasSubstr("problem h:6379: grants nothing: Redis is out of memory")));
    seen.kept_out = trouble{.what = "h:6379: Connection refused"};
    EXPECT_THAT(judged(seen), ::testing::ElementsAre(HasSubstr("problem h:6379: Connection refused")));
    settings open;
    open.password = "canary";
    EXPECT_THAT(judged(healthy(), open),
                Contains(AllOf(HasSubstr("the password travels unencrypted"), Not(HasSubstr("canary")))));
}

TEST(redis_diagnostics, what_may_not_be_asked_is_a_note) {
    server_report seen = healthy();
    seen.info.reset();
    seen.appendfsync.clear();
    EXPECT_THAT(judged(seen),
                Contains(HasSubstr("note h:6379: version, memory, disk and replicas cannot be seen without")));
    seen = healthy();
    seen.appendfsync.clear();
    EXPECT_THAT(judged(seen),
                Contains(HasSubstr("note h:6379: appendfsync cannot be seen without the right +config|get")));
}

TEST(redis_diagnostics, missing_rights_are_a_problem_and_their_remedy_is_the_line) {
    settings config;
    config.user = "ann";
    const auto needed = needed_rights(config);
    server_report seen = healthy();
    for (std::size_t i = 0; i < needed.size(); ++i)
        if (needed[i].rule == "+hset" || needed[i].rule == "+scan") seen.denied.push_back(i);
    EXPECT_THAT(judged(seen, config),
                Contains(AllOf(HasSubstr("problem h:6379: the user 'ann' lacks +scan, +hset"),
                               HasSubstr("without, no lists, claims"), HasSubstr(acl_remedy(config)))));
}

TEST(redis_diagnostics, rights_that_locks_do_without_are_a_warning) {
    settings config;
    const auto without = [&](const std::string& rule) {
        server_report seen = healthy();
        const auto needed = needed_rights(config);
        for (std::size_t i = 0; i < needed.size(); ++i)
            if (needed[i].rule == rule) seen.denied.push_back(i);
        return judged(seen, config);
    };
    EXPECT_THAT(without("+scan"), Contains(AllOf(HasSubstr("warning h:6379: the user 'default' lacks +scan"),
                                                 HasSubstr("without, no lists"), HasSubstr(acl_remedy(config)))));
    EXPECT_THAT(without("+wait"), Contains(HasSubstr("warning h:6379: the user 'default' lacks +wait")));
    EXPECT_THAT(without("+info"), Contains(HasSubstr("warning h:6379: the user 'default' lacks +info")));
    config.replicas = 1;
    config.strict = true;
    EXPECT_THAT(without("+wait"), Contains(HasSubstr("problem h:6379: the user 'default' lacks +wait")));
    EXPECT_THAT(without("+info"), Contains(HasSubstr("problem h:6379: the user 'default' lacks +info")));
    EXPECT_THAT(without("+publish"), Contains(HasSubstr("problem h:6379: the user 'default' lacks +publish")));
}

TEST(redis_diagnostics, what_keeps_us_out_has_the_remedy_that_fits_or_none) {
    settings config;
    config.user = "ann";
    using enum trouble::remedy;
    const auto found = [&](const std::string& what, bool hopeless = false, trouble::remedy helps = unknown) {
        server_report seen;
        seen.kept_out = trouble{.what = what, .hopeless = hopeless, .helps = helps};
        return judged(seen, config);
    };
    using ::testing::ElementsAre;
    EXPECT_THAT(found("h:1: the user 'ann' lacks +publish", true, rights),
                ElementsAre("problem h:1: the user 'ann' lacks +publish -> in redis-cli: " + acl_remedy(config)));
    EXPECT_THAT(found("h:1: is a replica; give the master's address", false, told),
                ElementsAre("problem h:1: is a replica; give the master's address -> "));
    EXPECT_THAT(found("h:1: is Redis 6.2, and 7.0 or newer is needed", true),
                ElementsAre("problem h:1: is Redis 6.2, and 7.0 or newer is needed -> "));
    EXPECT_THAT(found("h:1: Connection refused"),
                ElementsAre(HasSubstr("-> is it running, and is the address right?")));
}

class strict_client : public ::testing::Test {
protected:
    std::string url() { return "redis://" + on_.node().address(); }
    void set(const std::string& what, const std::string& value) { on_.node().command({"config", "set", what, value}); }
    void cut() { on_.node().command({"client", "kill", "type", "pubsub"}); }
    complaint strictly() { return complaint_of(url(), {.strict = true, .patience = servers::long_patience}); }

    servers::single on_{{"appendonly yes", "appendfsync no"}};
};

TEST_F(strict_client, claims_nothing_where_a_promise_is_broken) {
    EXPECT_FALSE(strictly().code) << strictly().what;
    set("maxmemory", "100mb");
    EXPECT_FALSE(strictly().code) << strictly().what;

    set("maxmemory-policy", "volatile-lru");
    complaint heard = strictly();
    EXPECT_EQ(heard.code, errc::unsupported);
    EXPECT_TRUE(heard.readable()) << heard.what;
    EXPECT_LT(heard.after, servers::long_patience / 2);
    EXPECT_THAT(heard.what, AllOf(HasSubstr(on_.node().address()), HasSubstr("maxmemory-policy is volatile-lru"),
                                  HasSubstr("noeviction")));
    EXPECT_FALSE(complaint_of(url()).code) << "others do not ask";

    set("maxmemory-policy", "noeviction");
    set("appendonly", "no");
    heard = strictly();
    EXPECT_EQ(heard.code, errc::unsupported);
    EXPECT_THAT(heard.what, HasSubstr("appendonly is no"));
}

TEST_F(strict_client, looks_again_when_it_has_connected_again) {
    client locks{url(), {.strict = true}};
    hold kept = locks.acquire("kept", {.lease = 2s});
    set("appendonly", "no");
    cut();
    EXPECT_TRUE(testing::eventually([&] {
        const attempt got = locks.try_acquire("n");
        return !got && got.refusal().reason == errc::unsupported;
    }));
    std::this_thread::sleep_for(3s);
    EXPECT_TRUE(kept.valid()) << "what is held is renewed all the same";
    EXPECT_EQ(kept.release(), release_result::released);
    set("appendonly", "yes");
    cut();
    EXPECT_TRUE(testing::eventually([&] { return static_cast<bool>(locks.try_acquire("n")); }));
}

TEST(redis_doctor, knows_a_refusal_from_the_script_s_own) {
    const auto heard = [](std::string_view error) { return read_why_not({.is = reply::kind::error, .text = error}); };
    EXPECT_EQ(heard("ERR arguments of a claim script: 0123, on @user_script:72."), "");
    EXPECT_THAT(heard("READONLY You can't write against a read only replica."), HasSubstr("read only replica"));
    EXPECT_THAT(heard("MISCONF Redis is configured to save RDB snapshots"), HasSubstr("cannot write its data to disk"));
    EXPECT_THAT(heard("ERR Error compiling script"), HasSubstr("Error compiling script"));
}

TEST(redis_doctor, finds_what_is_wrong_with_a_real_server) {
    servers::single on{{"maxmemory 100mb", "maxmemory-policy allkeys-lru"}};
    client locks{"redis://" + on.node().address()};
    std::error_code ec;
    const auto found = lines(locks.check(ec));
    EXPECT_FALSE(ec);
    const std::string at = on.node().address() + ": ";
    EXPECT_THAT(found, Contains(HasSubstr("good " + at + "Redis 7.")));
    EXPECT_THAT(found, Contains(HasSubstr("warning " + at + "maxmemory-policy is allkeys-lru")));
    EXPECT_THAT(found, Contains(HasSubstr("warning " + at + "appendonly is no")));
    EXPECT_THAT(found, Contains(HasSubstr("good " + at + "its clock is within")));
    EXPECT_THAT(found, Contains(HasSubstr("note " + at + "the user 'default' may do more")));
    EXPECT_THAT(found, Not(Contains(HasSubstr("problem "))));
    EXPECT_TRUE(locks.try_acquire("n"));

    const std::string nothing = "problem " + at + "grants nothing: Redis ";
    on.node().command({"config", "set", "min-replicas-to-write", "1"});
    EXPECT_THAT(lines(locks.check(ec)), Contains(HasSubstr(nothing + "has fewer replicas than")));
    on.node().command({"config", "set", "min-replicas-to-write", "0"});
    on.node().command({"config", "set", "maxmemory-policy", "noeviction", "maxmemory", "1"});
    EXPECT_THAT(lines(locks.check(ec)), Contains(HasSubstr(nothing + "is out of memory")));
}

}  // namespace
}  // namespace mortise::stores::redis
