// protocol=redisson: locks that a Redisson next door shares.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/redis/redisson_protocol.hpp"
#include "stores/redis/servers/redisson_suite.hpp"
#include "stores/redis/servers/subscriber.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/counting_semaphore.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <future>
#include <iostream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redis {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST_F(redis_redisson, a_hold_is_a_hash_of_one_owner_and_its_count_with_an_end) {
    client locks{url()};
    hold mine = locks.acquire("orders", {.lease = 20s});
    EXPECT_EQ(command({"keys", "*"}), "orders");
    EXPECT_THAT(command({"hgetall", "orders"}),
                MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:1\n1"));
    const int left = std::stoi(command({"pttl", "orders"}));
    EXPECT_GT(left, 0);
    EXPECT_LE(left, 20'000);
    servers::subscriber waits{node().port(), "SUBSCRIBE " + channel_of_orders};
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(waits.await(channel_of_orders + " 0")) << "a peer that waits was not woken";
    EXPECT_EQ(command({"exists", "orders"}), "0");
}

TEST_F(redis_redisson, the_unlock_of_a_peer_wakes_us_long_before_its_lease_ends) {
    client locks{url()};
    std::chrono::duration<double, std::milli> quickest = 1min;
    for (int n = 0; n < 20 && quickest > 100ms; ++n) {  // a busy machine may be late, but not every time
        peer_locks(60'000);
        EXPECT_EQ(locks.try_acquire("orders").reason(), errc::busy);
        auto waits = waits_for(locks);
        ASSERT_TRUE(await_listeners(channel_of_orders, 1));
        const auto began = std::chrono::steady_clock::now();
        peer_unlocks();
        EXPECT_TRUE(waits.get());
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
        EXPECT_LT(took, 5s);
        quickest = std::min(quickest, took);
        EXPECT_TRUE(await_listeners(channel_of_orders, 0));
    }
    std::cout << "woken by a peer's unlock after " << quickest.count() << " ms\n";
    EXPECT_LT(quickest, 100ms);
}

TEST_F(redis_redisson, many_waiters_share_a_subscription) {
    client locks{url()};
    peer_locks(60'000);
    std::vector<std::future<bool>> all;
    for (int i = 0; i < 4; ++i)
        all.push_back(std::async(std::launch::async, [&] {
            const attempt got = locks.try_acquire("orders", {.wait = 50s, .hand_over = hand_over::off});
            return static_cast<bool>(got);
        }));
    ASSERT_TRUE(await_listeners(channel_of_orders, 1));
    peer_unlocks();
    for (auto& one : all) EXPECT_TRUE(one.get());
    EXPECT_TRUE(await_listeners(channel_of_orders, 0));
}

// It is repeated while the server has not yet answered that it listens. Listened to twice, the channel would be left once.
TEST_F(redis_redisson, a_claim_that_is_repeated_leaves_no_subscription_behind) {
    testing::tcp_proxy far{node().port()};
    client locks{url(far.port()), {.reply_timeout = 100ms}};
    EXPECT_TRUE(locks.try_acquire("another", {.wait = 20s}));  // it is connected
    far.delay(testing::way::to_client, 250ms);
    peer_locks(60'000);
    auto waits = waits_for(locks);
    ASSERT_TRUE(await_listeners(channel_of_orders, 1));
    std::this_thread::sleep_for(1s);  // some repeats
    peer_unlocks();
    EXPECT_TRUE(waits.get());
    EXPECT_TRUE(await_listeners(channel_of_orders, 0));
}

// A wake that got lost would cost a third of a lease, 10 s.
TEST_F(redis_redisson, a_crowd_of_clients_and_threads_misses_no_unlock) {
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::jthread> all;
    std::atomic<std::int64_t> longest_ms{0};
    for (const unsigned turns : {0u, 64u, 0u}) {
        clients.push_back(std::make_unique<client>(url(), client_options{.hand_over_turns = turns}));
        for (int t = 0; t < 3; ++t)
            all.emplace_back([&, locks = clients.back().get()] {
                for (std::uint64_t n = 0; n < testing::scale(300); ++n) {
                    const auto began = std::chrono::steady_clock::now();
                    const hold mine = locks->acquire("orders", {.wait = 100s});
                    const auto took =
                        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
                    for (auto most = longest_ms.load(); took.count() > most;)
                        if (longest_ms.compare_exchange_weak(most, took.count())) break;
                }
            });
    }
    const auto began = std::chrono::steady_clock::now();
    all.clear();
    std::cout << "longest wait " << longest_ms << " ms, all "
              << std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() << " s\n";
    EXPECT_LT(longest_ms, 8'000);
}

TEST_F(redis_redisson, after_a_reconnect_a_waiter_listens_again) {
    testing::tcp_proxy proxy{node().port()};
    client locks{url(proxy.port())};
    peer_locks(60'000);
    auto waits = waits_for(locks);
    ASSERT_TRUE(await_listeners(channel_of_orders, 1));
    proxy.refuse();
    proxy.cut();
    ASSERT_TRUE(await_listeners(channel_of_orders, 0));
    proxy.accept();
    ASSERT_TRUE(await_listeners(channel_of_orders, 1));
    peer_unlocks();
    EXPECT_TRUE(waits.get());
}

TEST_F(redis_redisson, reentrancy) {
    client locks{url()};
    recursive_mutex ours{locks, "ours"};
    ours.lock();
    ours.lock();
    EXPECT_THAT(command({"hvals", "ours"}), "1") << "re-entry is counted here, not there";
    ours.unlock();
    EXPECT_EQ(command({"exists", "ours"}), "1");
    ours.unlock();
    EXPECT_EQ(command({"exists", "ours"}), "0");

    peer_locks(60'000, 2);  // it has entered twice
    auto waits = waits_for(locks);
    ASSERT_TRUE(await_listeners(channel_of_orders, 1));
    peer_unlocks();
    command({"publish", channel_of_orders, "0"});
    EXPECT_EQ(waits.wait_for(300ms), std::future_status::timeout) << "a peer is still inside";
    EXPECT_EQ(command({"hget", "orders", peer}), "1");
    peer_unlocks();
    EXPECT_TRUE(waits.get());
}

TEST_F(redis_redisson, wrong_owner_unlock) {
    client locks{url()};
    hold mine = locks.acquire("orders", {.lease = 1s, .renew = renew::off});
    command({"del", "orders"});
    peer_locks(60'000, 2);
    EXPECT_EQ(mine.release(), release_result::taken_over);
    EXPECT_EQ(command({"hget", "orders", peer}), "2");
    const std::string owner = redisson_owner({});
    const redisson_names names{"orders"};
    EXPECT_EQ(command({"eval", scripts::all().redisson_release.source, "3", "orders", names.latch({}),
                       names.reader(owner), owner, "PUBLISH", "10000", names.channel, names.rw_channel}),
              "")
        << "nil, as Redisson answers";
}

// The document's watchdog renews whatever key exists, and keeps a stranger's lock alive.
TEST_F(redis_redisson, watchdog_renews_only_its_own_field) {
    client locks{url()};
    hold mine = locks.acquire("orders", {.lease = 600ms});
    std::this_thread::sleep_for(900ms);
    EXPECT_TRUE(mine.valid()) << "was not renewed";
    command({"del", "orders"});
    peer_locks(60'000);
    EXPECT_TRUE(eventually([&] { return !mine.valid(); }, 20s));
    EXPECT_GT(std::stoi(command({"pttl", "orders"})), 1000) << "a renewal gave it our lease";
    EXPECT_EQ(command({"hkeys", "orders"}), peer);
}

TEST_F(redis_redisson, explicit_lease_without_renewal) {
    client locks{url()};
    const hold mine = locks.acquire("orders", {.lease = 700ms, .renew = renew::off});
    EXPECT_LE(std::stoi(command({"pttl", "orders"})), 700);
    EXPECT_TRUE(eventually([&] { return command({"exists", "orders"}) == "0"; }, 20s));
    EXPECT_FALSE(mine.valid());
}

TEST_F(redis_redisson, repeated_unlock_answered_by_the_latch) {
    const std::string owner = redisson_owner({});
    const redisson_names names{"orders"};
    const auto unlock = [&] {
        return command({"eval", scripts::all().redisson_release.source, "3", "orders", names.latch({}),
                        names.reader(owner), owner, "PUBLISH", "10000", names.channel, names.rw_channel});
    };
    command({"hset", "orders", owner, "1"});
    EXPECT_EQ(unlock(), "1");
    EXPECT_EQ(command({"get", "redisson_unlock_latch:{orders}:00000000000000000000000000000000"}), "1");
    peer_locks(60'000);
    EXPECT_EQ(unlock(), "1") << "the answer of the first";
    EXPECT_EQ(command({"hkeys", "orders"}), peer);
    command({"del", "orders"});
    EXPECT_EQ(command({"eval", scripts::all().redisson_claim.source, "2", "orders", names.latch({}), "30000", owner}),
              "R")
        << "a claim that comes after its release";
}

TEST_F(redis_redisson, claim_cut_after_it_was_carried_out) {
    testing::tcp_proxy proxy{node().port()};
    client locks{url(proxy.port(), "&timeout=500ms")};
    { const hold first = locks.acquire("meet"); }
    proxy.swallow(testing::way::to_client);
    auto gets = waits_for(locks);
    ASSERT_TRUE(eventually([&] { return command({"exists", "orders"}) == "1"; }, 20s));
    proxy.swallow(testing::way::to_client, false);
    proxy.cut();
    attempt got = gets.get();
    ASSERT_TRUE(got);
    EXPECT_EQ(command({"hvals", "orders"}), "1") << "counted twice";
    EXPECT_EQ(got->release(), release_result::released);
    EXPECT_EQ(command({"exists", "orders"}), "0");
}

TEST_F(redis_redisson, expiry_without_publish) {
    client locks{url()};
    peer_locks(700);
    auto waits = waits_for(locks);
    EXPECT_TRUE(waits.get());
}

TEST_F(redis_redisson, foreign_data_is_left_alone_and_named) {
    client locks{url()};
    command({"set", "text", "data"});
    command({"hset", "hash", "colour", "red"});
    command({"hset", "two", peer, "1", "x", "1"});
    command({"rpush", "redisson_lock_queue:{line}", "data"});
    command({"set", "redisson_lock_timeout:{line}", "data"});
    client fair{url("&fair=1")};
    for (const char* name : {"text", "hash", "two", "line"})
        for (client* one : {&locks, &fair}) {
            if (one == &locks && std::string{"line"} == name) continue;
            const attempt none = one->try_acquire(name, {.wait = 1s});
            EXPECT_EQ(none.reason(), errc::kind_mismatch) << name;
            EXPECT_THAT(none.refusal().describe(), HasSubstr("key_prefix"));
        }
    command({"hset", "reads", "mode", "read", "colour", "red"});
    command({"hset", "writes", "mode", "write", "colour", "red"});
    for (const char* name : {"text", "hash", "two", "reads", "writes"}) {
        shared_mutex shared{locks, name};
        std::error_code ec;
        EXPECT_FALSE(shared.try_lock(ec));
        EXPECT_EQ(ec, errc::kind_mismatch) << name;
        EXPECT_FALSE(shared.try_lock_shared(ec));
        EXPECT_EQ(ec, errc::kind_mismatch) << name;
        EXPECT_EQ(command({"pttl", name}), "-1") << name;
    }
    EXPECT_EQ(command({"hlen", "reads"}), "2");
    EXPECT_EQ(command({"hlen", "writes"}), "2");
    EXPECT_EQ(command({"llen", "redisson_lock_queue:{line}"}), "1");
    EXPECT_EQ(command({"get", "text"}), "data");
    EXPECT_EQ(command({"hgetall", "hash"}), "colour\nred");
    EXPECT_EQ(command({"hlen", "two"}), "2");
}

TEST_F(redis_redisson, a_lock_without_an_end_keeps_us_out_until_it_goes) {
    client locks{url()};
    client fair{url("&fair=1")};
    command({"hset", "orders", peer, "3"});
    EXPECT_EQ(locks.try_acquire("orders", {.wait = 2s}).reason(), errc::timed_out);
    EXPECT_EQ(fair.try_acquire("orders", {.wait = 2s}).reason(), errc::timed_out);
    EXPECT_EQ(command({"hgetall", "orders"}), peer + "\n3");
    command({"del", "orders"});
    EXPECT_TRUE(locks.try_acquire("orders", {.wait = 20s}));
}

TEST_F(redis_redisson, names_with_braces_are_locks_like_others) {
    client locks{url()};
    client others{url()};
    client fair{url("&fair=1")};
    for (const std::string name : {"{", "}{", "{}", "a{b", "{a}b", "x{a}{b}"}) {
        hold mine = locks.acquire(name, {.wait = 20s});
        auto waits = waits_for(others, name);
        ASSERT_TRUE(await_listeners(redisson_names{name}.channel, 1)) << name;
        EXPECT_EQ(fair.try_acquire(name, {.wait = 100ms}).reason(), errc::timed_out) << name;
        EXPECT_EQ(mine.release(), release_result::released) << name;
        EXPECT_TRUE(waits.get()) << name;
        shared_mutex shared{locks, name + "s"};
        shared.lock_shared();
        shared.unlock_shared();
    }
    EXPECT_TRUE(eventually([&] { return locks_left().empty(); }, 20s)) << locks_left();
}

// Each entry of a reader has a key of its own.
TEST_F(redis_redisson, a_count_that_nobody_can_have_does_not_keep_the_server_busy) {
    client locks{url()};
    command({"hset", "orders", "mode", "read", peer, "2000000000"});
    command({"pexpire", "orders", "60000"});
    shared_mutex ours{locks, "orders"};
    EXPECT_TRUE(ours.try_lock_for(20s)) << "none of its leases is left";
}

TEST_F(redis_redisson, a_lock_and_a_read_write_lock_of_one_name_are_told_apart) {
    client locks{url()};
    shared_mutex shared{locks, "orders"};
    shared.lock_shared();
    EXPECT_EQ(locks.try_acquire("orders").reason(), errc::kind_mismatch);
    shared.unlock_shared();
    const hold mine = locks.acquire("orders");
    std::error_code ec;
    EXPECT_FALSE(shared.try_lock(ec));
    EXPECT_EQ(ec, errc::kind_mismatch);
}

TEST_F(redis_redisson, what_the_protocol_has_not_is_refused_by_name) {
    client locks{url()};
    EXPECT_FALSE(locks.promises().tokens);
    EXPECT_FALSE(locks.promises().fifo);
    EXPECT_FALSE(locks.promises().upgrades);
    std::error_code ec;
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_EQ(ec, errc::unsupported);
    EXPECT_EQ(locks.try_acquire("orders", {.require_token = true}).reason(), errc::no_token);
    EXPECT_EQ(locks.try_acquire("orders", {.order = order::fifo}).reason(), errc::unsupported);
    EXPECT_THROW((counting_semaphore{locks, "permits", 3}), error);
}

}  // namespace
}  // namespace mortise::inline v0::stores::redis
