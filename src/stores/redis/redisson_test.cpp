// protocol=redisson: locks that a Redisson next door shares. A peer here does what the recording shows of it.
#include "stores/redis/names.hpp"
#include "stores/redis/redisson_protocol.hpp"
#include "stores/redis/servers/cluster.hpp"
#include "stores/redis/servers/single.hpp"
#include "stores/redis/servers/subscriber.hpp"
#include "support/tcp_proxy.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/counting_semaphore.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <future>
#include <iostream>
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

const std::string peer = "587b2bdf-414d-4819-8a7b-f1701a8b43c0:33";
const std::string channel_of_orders = "redisson_lock__channel:{orders}";

class redis_redisson : public ::testing::Test {
protected:
    std::string url(const std::string& more = {}) { return url(node().port(), more); }
    static std::string url(std::uint16_t port, const std::string& more = {}) {
        return "redis://127.0.0.1:" + std::to_string(port) + "?protocol=redisson" + more;
    }
    // Without the end of the line.
    std::string command(const std::vector<std::string>& words) {
        std::string reply = node().command(words);
        while (reply.ends_with('\n')) reply.pop_back();
        return reply;
    }
    servers::server& node() { return on_.node(); }

    void peer_locks(int lease_ms, int count = 1, const std::string& name = "orders") {
        command({"hincrby", name, peer, std::to_string(count)});
        command({"pexpire", name, std::to_string(lease_ms)});
    }
    void peer_unlocks(const std::string& name = "orders") {
        if (command({"hincrby", name, peer, "-1"}) != "0") return;
        command({"del", name});
        command({"publish", "redisson_lock__channel:{" + name + "}", "0"});
    }
    bool await_listeners(const std::string& channel, int n) {
        return eventually(
            [&] {
                return command({"pubsub", "numsub", channel}) == channel + "\n" + std::to_string(n);
            },
            20s);
    }
    static std::future<attempt> waits_for(client& locks, const std::string& name = "orders") {
        return std::async(std::launch::async, [&locks, name] { return locks.try_acquire(name, {.wait = 50s}); });
    }

private:
    servers::single on_;
};

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
    peer_locks(60'000);
    EXPECT_EQ(locks.try_acquire("orders").reason(), errc::busy);
    auto waits = waits_for(locks);
    ASSERT_TRUE(await_listeners(channel_of_orders, 1));
    const auto began = std::chrono::steady_clock::now();
    peer_unlocks();
    EXPECT_TRUE(waits.get());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    std::cout << "woken by a peer's unlock after " << took.count() << " ms\n";
    EXPECT_LT(took, 5s);
    EXPECT_TRUE(await_listeners(channel_of_orders, 0));
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
    shared_mutex shared{locks, "hash"};
    for (const char* name : {"text", "hash", "two"}) {
        const attempt none = locks.try_acquire(name, {.wait = 1s});
        EXPECT_EQ(none.reason(), errc::kind_mismatch) << name;
        EXPECT_THAT(none.refusal().describe(), HasSubstr("key_prefix"));
    }
    std::error_code ec;
    shared.lock(ec);
    EXPECT_EQ(ec, errc::kind_mismatch);
    shared.lock_shared(ec);
    EXPECT_EQ(ec, errc::kind_mismatch);
    EXPECT_EQ(command({"get", "text"}), "data");
    EXPECT_EQ(command({"hgetall", "hash"}), "colour\nred");
    EXPECT_EQ(command({"hlen", "two"}), "2");
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
    EXPECT_EQ(locks.try_acquire("orders", {.wait = 300ms}).reason(), errc::timed_out);
    EXPECT_TRUE(eventually([&] { return command({"exists", "redisson_lock_queue:{orders}"}) == "0"; }, 20s));
    EXPECT_EQ(command({"exists", "redisson_lock_timeout:{orders}"}), "0");
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
