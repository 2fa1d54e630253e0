// A server that forgets its scripts, is full, takes no writes, loads its data or stands still.
#include "checker/faults/tcp_proxy.hpp"
#include "checker/history/traffic.hpp"
#include "stores/redis/servers/suite.hpp"
#include "support/recording_observer.hpp"

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::eventually;
using mortise::testing::recording_observer;
using mortise::testing::tcp_proxy;
using mortise::testing::traffic;
using mortise::testing::way;
using ::testing::HasSubstr;

class redis_bad_days : public on_one_server {
protected:
    // A claim that cannot be answered yet: it returns when it was asked at least twice.
    std::future<attempt> claim_in_vain(client& locks, const recording_observer& seen, const std::string& name) {
        auto asked = std::async(std::launch::async, [&locks, name] { return locks.try_acquire(name); });
        EXPECT_TRUE(seen.wait_for(event_kind::retried, 2));
        return asked;
    }

    std::shared_ptr<recording_observer> seen_ = std::make_shared<recording_observer>();
    client locks_{url(), {.patience = 60s, .observer = seen_}};
};

TEST_F(redis_bad_days, scripts_that_are_forgotten_all_the_time_cost_nothing_but_time) {
    traffic crowd{{.urls = std::vector<std::string>(4, url()), .names = {"x", "y"}}};
    for (int i = 0; i < 200 || crowd.visits() < 200; ++i) {
        node().command({"script", "flush"});
        std::this_thread::sleep_for(2ms);
    }
    const auto said = crowd.stop();
    EXPECT_EQ(said.overlaps, 0u);
    EXPECT_EQ(said.token_disorders, 0u);
    EXPECT_EQ(said.lost, 0u);
    EXPECT_EQ(said.refused, 0u) << said.last_refusal;
    EXPECT_TRUE(held("x").empty());
    EXPECT_TRUE(held("y").empty());
}

// The claim follows while the release is on its way. If the release had to be sent again, the claim would come first.
TEST_F(redis_bad_days, a_release_whose_script_was_forgotten_is_not_overtaken_by_the_next_claim) {
    tcp_proxy proxy{node().port()};
    const std::string at = "redis://127.0.0.1:" + std::to_string(proxy.port());
    for (const std::string& address : {url(proxy.port()), at + "?protocol=setnx", at + "?protocol=redisson"}) {
        client far{address, {.hand_over_turns = 0}};
        node().command({"script", "flush"});
        hold mine = far.acquire(prefix_, {.wait = 20s, .release = release_mode::lazy});
        proxy.delay(way::to_client, 100ms);
        EXPECT_EQ(mine.release(), release_result::sent);
        const attempt next = far.try_acquire(prefix_);
        EXPECT_TRUE(next) << address << ": " << next.refusal().describe();
        proxy.delay(way::to_client, 0ms);
    }
}

TEST_F(redis_bad_days, a_full_server_refuses_claims_and_still_renews_and_takes_back) {
    hold mine = locks_.acquire("x", {.lease = 3s});
    node().command({"config", "set", "maxmemory", "1"});
    node().command({"script", "flush"});  // to send the source is no claim on memory either
    const attempt refused = locks_.try_acquire("y");
    ASSERT_EQ(refused.reason(), errc::exhausted);
    EXPECT_THAT(refused.refusal().describe(), HasSubstr("out of memory"));
    const std::size_t before = seen_->count(event_kind::renewed);
    EXPECT_TRUE(seen_->wait_for(event_kind::renewed, before + 2));
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
    node().command({"config", "set", "maxmemory", "0"});
    EXPECT_TRUE(locks_.try_acquire("x"));
}

TEST_F(redis_bad_days, a_claim_whose_grant_got_lost_is_given_back_by_a_server_that_is_full_by_now) {
    tcp_proxy proxy{node().port()};
    client far{url(proxy.port())};
    { const hold warm = far.acquire("x"); }
    proxy.swallow(way::to_client);
    auto asked = std::async(std::launch::async, [&] { return far.try_acquire("x", {.lease = 10min}); });
    ASSERT_TRUE(eventually([&] { return held("x").size() == 1; }));
    node().command({"config", "set", "maxmemory", "1"});
    proxy.swallow(way::to_client, false);
    proxy.cut();
    EXPECT_EQ(asked.get().reason(), errc::exhausted);
    EXPECT_TRUE(eventually([&] { return held("x").empty(); })) << "nobody has it, and nobody can get it";
    node().command({"config", "set", "maxmemory", "0"});
}

TEST_F(redis_bad_days, a_replica_is_asked_again_until_it_is_a_master) {
    hold mine = locks_.acquire("x", {.lease = 30s});
    node().command({"replicaof", "127.0.0.1", "1"});
    auto asked = claim_in_vain(locks_, *seen_, "y");
    EXPECT_EQ(asked.wait_for(0s), std::future_status::timeout);
    EXPECT_TRUE(mine.valid());
    node().command({"replicaof", "no", "one"});
    EXPECT_TRUE(asked.get());
    EXPECT_EQ(mine.release(), release_result::released);
}

TEST_F(redis_bad_days, a_server_that_loads_its_data_is_asked_again_until_it_has) {
    hold mine = locks_.acquire("x", {.lease = 30s});
    for (int i = 0; i < 100; ++i) node().command({"set", "filler" + std::to_string(i), std::string(2000, 'x')});
    node().command({"config", "set", "key-load-delay", "10000", "loading-process-events-interval-bytes", "1024"});
    auto loads = std::async(std::launch::async, [] { node().command({"debug", "reload"}); });
    const auto loading = [] {
        try {
            return node().field({"info", "persistence"}, "loading") == "1";
        } catch (const std::runtime_error&) {
            return false;
        }
    };
    ASSERT_TRUE(eventually(loading));
    auto asked = claim_in_vain(locks_, *seen_, "y");
    EXPECT_TRUE(mine.valid());
    EXPECT_TRUE(asked.get());
    loads.get();
    EXPECT_EQ(mine.release(), release_result::released);
    node().command({"config", "set", "key-load-delay", "0"});
}

TEST_F(redis_bad_days, one_that_stands_still_for_longer_than_the_lease_keeps_no_hold) {
    client other{url(), {.patience = 60s}};
    hold mine = locks_.acquire("x", {.lease = 1s});
    const token first = mine.token();
    const boot_clock::time_point granted = boot_clock::now();
    auto next = std::async(std::launch::async, [&] { return other.try_acquire("x", {.wait = 60s}); });
    ASSERT_TRUE(await_waiting("x", 1));
    node().freeze();
    boot_clock::time_point seen_valid = granted;
    EXPECT_TRUE(eventually([&] {
        const boot_clock::time_point now = boot_clock::now();
        if (!mine.valid()) return true;
        seen_valid = now;
        return false;
    }));
    EXPECT_EQ(next.wait_for(500ms), std::future_status::timeout) << "who should have let it in?";
    node().thaw();
    attempt got = next.get();
    ASSERT_TRUE(got) << got.refusal().describe();
    EXPECT_GT(boot_clock::now(), seen_valid);
    EXPECT_GT(got->token(), first);
    EXPECT_FALSE(mine.valid());
    EXPECT_TRUE(seen_->wait_for(event_kind::lost));
    EXPECT_NE(mine.release(), release_result::released);
    EXPECT_TRUE(got->valid()) << "an old holder's release is not its own";
}

TEST_F(redis_bad_days, one_that_stands_still_for_a_moment_costs_nothing) {
    hold mine = locks_.acquire("x", {.lease = 30s});
    node().freeze();
    auto asked = claim_in_vain(locks_, *seen_, "y");  // which is longer than a connection is believed in
    node().thaw();
    EXPECT_TRUE(asked.get());
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(held("x").empty());
}

TEST_F(redis_bad_days, a_release_by_its_id_is_repeated_for_as_long_as_it_is_waited_for) {
    const hold mine = locks_.acquire("x", {.kept_by = kept_by::lease});
    client another{url() + (url().find('?') == std::string::npos ? "?" : "&") + "timeout=200ms",
                   {.release_wait = 60s, .observer = seen_}};
    node().freeze();
    std::error_code ec;
    auto released = std::async(std::launch::async, [&] { return another.release("x", mine.id(), ec); });
    EXPECT_TRUE(seen_->wait_for(event_kind::retried, 2));
    node().thaw();
    EXPECT_EQ(released.get(), release_result::released) << ec.message();
}

TEST_F(redis_bad_days, a_claim_that_arrives_after_its_own_release_is_not_granted) {
    tcp_proxy proxy{node().port()};
    client far{url(proxy.port(), "&timeout=400ms"), {.reply_timeout = 10s, .patience = 100ms}};
    { const hold warm = far.acquire("x"); }
    const auto late = std::chrono::seconds{3};
    const std::uint64_t before = calls_of("evalsha");
    proxy.delay(way::to_server, late);
    auto asked = std::async(std::launch::async, [&] { return far.try_acquire("x"); });
    ASSERT_TRUE(eventually([&] { return proxy.connected() > 1; })) << "the first connection was not given up";
    proxy.delay(way::to_server, 0ms);
    EXPECT_EQ(asked.get().reason(), errc::unreachable);
    ASSERT_TRUE(eventually([&] { return calls_of("evalsha") >= before + 2; })) << "a release and a claim";
    EXPECT_TRUE(held("x").empty());
    EXPECT_TRUE(far.try_acquire("x"));
}

}  // namespace
}  // namespace mortise::stores::redis::servers
