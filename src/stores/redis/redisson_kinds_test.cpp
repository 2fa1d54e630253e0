// protocol=redisson: read-write locks, the fair lock, and servers that are more than one.
#include "stores/redis/names.hpp"
#include "stores/redis/redisson_protocol.hpp"
#include "stores/redis/servers/cluster.hpp"
#include "stores/redis/servers/redisson_suite.hpp"
#include "stores/redis/servers/subscriber.hpp"
#include "stores/redis/servers/with_sentinels.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <future>
#include <sstream>
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

// ---- readers and writers

TEST_F(redis_redisson, each_reader_has_a_lease_of_its_own_and_the_last_wakes_the_writers) {
    client locks{url()};
    client others{url()};
    shared_mutex one{locks, "orders"};
    shared_mutex two{others, "orders", {.lease = 60s}};
    one.lock_shared();
    two.lock_shared();
    EXPECT_EQ(command({"hget", "orders", "mode"}), "read");
    EXPECT_EQ(command({"hlen", "orders"}), "3");
    std::istringstream keys{command({"keys", "{orders}:*:rwlock_timeout:1"})};
    int readers = 0;
    for (std::string key; std::getline(keys, key); ++readers) EXPECT_EQ(command({"get", key}), "1");
    EXPECT_EQ(readers, 2);
    EXPECT_GT(std::stoi(command({"pttl", "orders"})), 30'000) << "it lives as long as the longest lease";
    servers::subscriber waits{node().port(), "SUBSCRIBE redisson_rwlock:{orders}"};
    two.unlock_shared();
    EXPECT_LE(std::stoi(command({"pttl", "orders"})), 30'000);
    one.unlock_shared();
    EXPECT_TRUE(waits.await("redisson_rwlock:{orders} 0"));
    one.lock();
    EXPECT_THAT(command({"hgetall", "orders"}), MatchesRegex("mode\nwrite\n[-0-9a-f]{36}:1:write\n1"));
    one.unlock();
    EXPECT_TRUE(waits.await("redisson_rwlock:{orders} 1"));
    EXPECT_EQ(command({"exists", "orders"}), "0");
}

TEST_F(redis_redisson, readers_and_writers_of_a_peer_and_ours_exclude_each_other) {
    client locks{url()};
    shared_mutex ours{locks, "orders"};
    const std::string timeout = "{orders}:" + peer + ":rwlock_timeout:1";
    command({"hset", "orders", "mode", "read", peer, "1"});
    command({"set", timeout, "1", "px", "60000"});
    command({"pexpire", "orders", "60000"});
    EXPECT_FALSE(ours.try_lock());
    EXPECT_TRUE(ours.try_lock_shared());
    ours.unlock_shared();
    EXPECT_EQ(command({"hlen", "orders"}), "2") << "the peer still reads";
    auto writes = std::async(std::launch::async, [&] { return ours.try_lock_for(50s); });
    ASSERT_TRUE(await_listeners("redisson_rwlock:{orders}", 1));
    command({"del", "orders", timeout});
    command({"publish", "redisson_rwlock:{orders}", "0"});
    EXPECT_TRUE(writes.get());
    EXPECT_EQ(command({"hget", "orders", "mode"}), "write");
}

TEST_F(redis_redisson, a_reader_whose_lease_has_run_out_is_in_no_writers_way) {
    client locks{url()};
    shared_mutex reads{locks, "orders"};
    reads.lock_shared();
    command({"hset", "orders", peer, "1"});  // dead: its lease has no key
    shared_mutex writes{locks, "orders"};
    EXPECT_FALSE(writes.try_lock());
    reads.unlock_shared();
    EXPECT_TRUE(writes.try_lock_for(20s));
    EXPECT_EQ(command({"hlen", "orders"}), "2");
    writes.unlock();
}

// Its threads pass the lock on among themselves for a number of turns; then those who were woken come first.
TEST_F(redis_redisson, a_client_whose_threads_all_want_the_lock_does_not_keep_it) {
    std::atomic<bool> over{false};
    std::atomic<int> inside{0};
    {
        client greedy{url()};
        std::vector<std::jthread> all;
        for (int t = 0; t < 4; ++t)
            all.emplace_back([&] {
                mutex orders{greedy, "orders"};
                while (!over) {
                    const std::scoped_lock guard{orders};
                    ++inside;
                }
            });
        ASSERT_TRUE(eventually([&] { return inside > 100; }, 20s));
        client modest{url()};
        for (int n = 0; n < 20; ++n) {
            const attempt got = modest.try_acquire("orders", {.wait = 20s});
            EXPECT_TRUE(got) << n;
            if (!got) break;
        }
        over = true;
    }
}

// ---- the fair lock

TEST_F(redis_redisson, only_a_fair_lock_promises_the_order_of_arrival) {
    client locks{url("&fair=1")};
    EXPECT_TRUE(locks.promises().fifo);
    const std::string line = "redisson_lock_queue:{orders}";
    const std::string second = "b0031af9-afff-4558-903d-6123db8163d9:40";
    peer_locks(60'000);
    auto ours = waits_for(locks);
    ASSERT_TRUE(eventually([&] { return command({"llen", line}) == "1"; }, 20s));
    const std::string me = command({"lindex", line, "0"});
    const double till = std::stod(command({"zscore", "redisson_lock_timeout:{orders}", me}));
    const double now = std::stod(command({"time"})) * 1000;
    EXPECT_GT(till, now + 300'000) << "the lease, and the time for which one is waited for";
    EXPECT_LT(till, now + 362'000);
    command({"rpush", line, second});  // a peer comes after us
    command({"zadd", "redisson_lock_timeout:{orders}", std::to_string(static_cast<long>(till) + 300'000), second});
    ASSERT_TRUE(await_listeners(channel_of_orders + ":" + me, 1));
    servers::subscriber next{node().port(), "SUBSCRIBE " + channel_of_orders + ":" + second};
    command({"del", "orders"});
    command({"publish", channel_of_orders + ":" + me, "0"});
    attempt got = ours.get();
    ASSERT_TRUE(got);
    EXPECT_EQ(command({"lrange", line, "0", "-1"}), second);
    EXPECT_NEAR(std::stod(command({"zscore", "redisson_lock_timeout:{orders}", second})), till, 1);
    EXPECT_EQ(locks.try_acquire("orders", {.hand_over = hand_over::off}).reason(), errc::busy);
    EXPECT_EQ(got->release(), release_result::released);
    EXPECT_TRUE(next.await(channel_of_orders + ":" + second + " 0")) << "the next in line was not told";
    EXPECT_EQ(locks.try_acquire("orders").reason(), errc::busy) << "it is the peer's turn";
}

TEST_F(redis_redisson, who_gives_up_leaves_the_line_of_a_fair_lock) {
    client locks{url("&fair=1")};
    peer_locks(60'000);
    EXPECT_EQ(locks.try_acquire("orders", {.wait = 2s}).reason(), errc::timed_out);
    EXPECT_TRUE(eventually([&] { return command({"exists", "redisson_lock_queue:{orders}"}) == "0"; }, 20s));
    EXPECT_EQ(command({"exists", "redisson_lock_timeout:{orders}"}), "0");
}

// One whose time is over, one who never had any, and one who is waited for yet.
TEST_F(redis_redisson, dead_waiters_of_a_fair_lock_are_passed_over_in_time) {
    client locks{url("&fair=1")};
    const std::string line = "redisson_lock_queue:{orders}";
    const std::string ends = "redisson_lock_timeout:{orders}";
    const double now = std::stod(command({"time"})) * 1000;
    command({"rpush", line, "late:1", "lost:1", "dead:1"});
    command({"zadd", ends, "1000", "late:1", std::to_string(now + 3000), "dead:1"});
    EXPECT_EQ(locks.try_acquire("orders").reason(), errc::busy) << "one is waited for";
    EXPECT_TRUE(locks.try_acquire("orders", {.wait = 50s}));
    EXPECT_TRUE(eventually([&] { return locks_left().empty(); }, 20s)) << locks_left();
}

TEST_F(redis_redisson, processes_get_a_fair_lock_in_the_order_of_arrival) {
    const std::string line = "redisson_lock_queue:{orders}";
    peer_locks(60'000);
    std::mutex guard;
    std::vector<int> order;
    std::vector<std::unique_ptr<client>> clients;
    std::vector<std::jthread> all;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(std::make_unique<client>(url("&fair=1")));
        all.emplace_back([&, i, locks = clients.back().get()] {
            const hold mine = locks->acquire("orders", {.wait = 50s, .order = order::fifo});
            std::scoped_lock held{guard};
            order.push_back(i);
        });
        ASSERT_TRUE(eventually([&] { return command({"llen", line}) == std::to_string(i + 1); }, 20s));
    }
    ASSERT_TRUE(await_listeners(channel_of_orders + ":" + command({"lindex", line, "0"}), 1));
    command({"del", "orders"});
    command({"publish", channel_of_orders + ":" + command({"lindex", line, "0"}), "0"});
    all.clear();
    EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3));
}

// ---- rights, and a cluster

TEST_F(redis_redisson, a_user_with_the_rights_that_the_doctor_names_can_lock_and_no_more) {
    for (const std::string more : {"&key_prefix=lock:", "&key_prefix=lock:&fair=1"}) {
        SCOPED_TRACE(more);
        client doctor{url(more)};
        std::error_code ec;
        std::string rules;
        for (const finding& one : doctor.check(ec))
            if (const auto at = one.remedy.find("resetkeys"); at != std::string::npos) rules = one.remedy.substr(at);
        ASSERT_FALSE(rules.empty());
        command({"acl", "setuser", "ann", "reset"});
        std::vector<std::string> words{"acl", "setuser", "ann", "on", ">secret"};
        std::istringstream each{rules};
        for (std::string word; each >> word;) words.push_back(word);
        ASSERT_EQ(command(words), "OK");
        const std::string user = "redis://ann:secret@" + node().address() + "?protocol=redisson";
        client locks{user + more};
        hold mine = locks.acquire("orders", {.wait = 10s, .lease = 600ms});
        client rivals{user + more};
        auto waits = waits_for(rivals);
        std::this_thread::sleep_for(700ms);
        EXPECT_TRUE(mine.valid()) << "was not renewed";
        EXPECT_EQ(mine.release(), release_result::released);
        EXPECT_TRUE(waits.get());
        if (more.find("fair") == std::string::npos) {
            shared_mutex shared{locks, "shared"};
            shared.lock_shared();
            shared.unlock_shared();
            shared.lock();
            shared.unlock();
        }
        EXPECT_EQ(command({"keys", "lock:*"}), "");
        client others{user + "&key_prefix=other:"};
        EXPECT_EQ(others.try_acquire("orders").reason(), errc::denied);
    }
}

TEST(redis_peers_behind_sentinels, exclude_and_wake_each_other) {
    servers::with_sentinels on;
    for (const std::string how : {"?protocol=redisson", "?protocol=redisson&fair=1", "?protocol=setnx"}) {
        const std::string url = "redis+sentinel://" + on.addresses() + "/" + servers::with_sentinels::name + how;
        client locks{url};
        client others{url};
        hold mine = locks.acquire("orders", {.wait = 20s});
        EXPECT_EQ(others.try_acquire("orders").reason(), errc::busy) << how;
        auto waits = std::async(std::launch::async, [&] {
            const attempt got = others.try_acquire("orders", {.wait = 20s});
            return static_cast<bool>(got);
        });
        EXPECT_EQ(waits.wait_for(100ms), std::future_status::timeout) << how;
        EXPECT_EQ(mine.release(), release_result::released) << how;
        EXPECT_TRUE(waits.get()) << how;
    }
}

TEST(redis_redisson_cluster, messages_go_to_the_node_that_keeps_the_name) {
    servers::cluster on;
    const std::string url = "redis+cluster://" + on.addresses() + "?protocol=redisson";
    client locks{url};
    client others{url};
    for (const std::string name : {"a", "b", "c", "{tag}d"}) {
        hold first = locks.acquire(name, {.wait = 50s, .lease = 60s});
        auto waits =
            std::async(std::launch::async, [&] { return others.try_acquire(name, {.wait = 50s, .lease = 60s}); });
        const std::string channel = redisson_names{name}.channel;
        servers::server* keeper = on.master_of(slot_of(name));
        ASSERT_TRUE(eventually(
            [&] {
                return keeper->command({"pubsub", "shardnumsub", channel}).starts_with(channel + "\n1");
            },
            20s));
        const auto began = std::chrono::steady_clock::now();
        EXPECT_EQ(first.release(), release_result::released);
        EXPECT_TRUE(waits.get());
        EXPECT_LT(std::chrono::steady_clock::now() - began, 8s) << name;
    }
    for (const std::string name : {"a{b", "{}", "}{"}) {
        const attempt none = locks.try_acquire(name, {.wait = 1s});
        EXPECT_EQ(none.reason(), errc::unsupported) << name;
        EXPECT_THAT(none.refusal().describe(), HasSubstr("different slots")) << name;
    }
}

TEST(redis_redisson_cluster, a_waiter_listens_on_where_the_slot_has_gone) {
    servers::cluster on;
    const std::string url = "redis+cluster://" + on.addresses() + "?protocol=redisson";
    client locks{url};
    client others{url};
    hold first = locks.acquire("a", {.wait = 50s, .lease = 60s});
    auto waits = std::async(std::launch::async, [&] { return others.try_acquire("a", {.wait = 50s, .lease = 60s}); });
    const std::string channel = redisson_names{"a"}.channel;
    const std::uint16_t slot = slot_of("a");
    servers::server* keeper = on.master_of(slot);
    const auto heard_at = [&](servers::server& node) {
        return eventually(
            [&] {
                return node.command({"pubsub", "shardnumsub", channel}).starts_with(channel + "\n1");
            },
            20s);
    };
    ASSERT_TRUE(heard_at(*keeper));
    servers::server* next = nullptr;
    for (servers::server* one : on.keepers())
        if (one != keeper) next = one;
    on.begin_move(slot, *next);
    on.end_move(slot, *next);
    EXPECT_TRUE(heard_at(*next));
    EXPECT_EQ(first.release(), release_result::released);
    EXPECT_TRUE(waits.get());
}

}  // namespace
}  // namespace mortise::inline v0::stores::redis
