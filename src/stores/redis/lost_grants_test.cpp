// A master that dies before its replicas have the grant: with durability::master somebody else is let in while the first still
// believes, and only the token tells them apart; with durability::wait there is no such grant.
#include "stores/redis/names.hpp"
#include "stores/redis/servers/cluster.hpp"
#include "stores/redis/servers/severed_replicas.hpp"
#include "stores/redis/servers/with_sentinels.hpp"
#include "support/children.hpp"
#include "support/shared_page.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/fenced.hpp>
#include <mortise/multi_lock.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::eventually;
using mortise::testing::milestone;
using mortise::testing::shared_page;
using ::testing::HasSubstr;

// A process that takes "x" and is stopped while it holds. What it thought then, and what it is told when it wakes.
class believer {
public:
    explicit believer(const std::string& url)
        : process_([this, &url] {
              client locks{url};
              const hold mine = locks.acquire("x", {.lease = 60s});
              thoughts_->token = mine.token();
              thoughts_->believed = mine.valid();
              holds_.reach('y');
              ::raise(SIGSTOP);
              thoughts_->was_told = eventually([&] { return mine.lost().stop_requested(); });
              return mine.valid() ? 1 : 0;
          }) {
        EXPECT_EQ(holds_.await(), 'y');
        EXPECT_TRUE(process_.stopped());
    }

    mortise::token token() const { return thoughts_->token; }
    void expect_disappointment() {
        process_.tell(SIGCONT);
        EXPECT_EQ(process_.wait(60s), 0);
        EXPECT_TRUE(thoughts_->believed);
        EXPECT_TRUE(thoughts_->was_told) << "at its next contact";
    }

private:
    struct thoughts {
        mortise::token token{};
        std::atomic<bool> believed = false;
        std::atomic<bool> was_told = false;
    };
    shared_page<thoughts> thoughts_;
    milestone holds_;
    child process_;
};

// The master loses its replicas, grants "x", and dies; `promoted` returns when another has its place.
void expect_a_loss_and_that_tokens_tell(const std::string& url, server& master, const fleet& all,
                                        const std::function<void()>& promoted) {
    fenced::register_of<int> stock{100};
    severed_replicas replicas{master, all};
    ASSERT_GT(replicas.count(), 0u);
    believer first{url};
    ASSERT_TRUE(stock.update(first.token(), [](int before) { return before - 1; }));
    master.kill();
    replicas.heal();
    promoted();

    client locks{url, {.patience = 60s}};
    attempt second = locks.try_acquire("x");
    ASSERT_TRUE(second) << "the new master knows of the grant: " << second.refusal().describe();
    EXPECT_GT(second->token(), first.token());
    EXPECT_TRUE(stock.update(second->token(), [](int before) { return before - 1; }));
    first.expect_disappointment();
    EXPECT_FALSE(stock.update(first.token(), [](int before) { return before - 50; })) << "its late write was let in";
    EXPECT_EQ(stock.peek(), 98);
    EXPECT_TRUE(second->valid());
}

// The same accident, but the claim wants a replica.
void expect_no_grant_without_a_replica(const std::string& url, server& master, const fleet& all) {
    client locks{url + "&wait_timeout=200ms", {.patience = 3s}};
    static_cast<void>(locks.list());  // it knows the servers
    severed_replicas replicas{master, all};
    ASSERT_GT(replicas.count(), 0u);
    const attempt got = locks.try_acquire("x", {.durability = durability::wait(1)});
    ASSERT_EQ(got.reason(), errc::unreachable);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("0 of 1 replicas"));
}

TEST(redis_lost_grants, of_a_master_that_sentinels_watch) {
    with_sentinels redis;
    const std::string url = "redis+sentinel://" + redis.addresses() + "/" + with_sentinels::name + "?prefix=lost";
    expect_no_grant_without_a_replica(url, *redis.master(), redis.nodes());
    redis.await_settled();
    server& master = *redis.master();
    expect_a_loss_and_that_tokens_tell(url, master, redis.nodes(), [&] { redis.await_master_other_than(master); });
}

TEST(redis_lost_grants, of_a_shard_of_a_cluster) {
    cluster redis;
    const std::string url = "redis+cluster://" + redis.addresses() + "?prefix=lost";
    const std::uint16_t slot = slot_of(key_of("lost", "x"));
    expect_no_grant_without_a_replica(url, *redis.master_of(slot), redis.nodes());
    redis.await_settled();
    server& master = *redis.master_of(slot);
    expect_a_loss_and_that_tokens_tell(url, master, redis.nodes(),
                                       [&] { redis.await_master_other_than(master, slot); });
}

// One lock on three masters that fail over, each for itself: all must grant it, and while one of them has it nobody else can.
class redis_lost_grants_of_three : public ::testing::Test {
protected:
    static std::string url_of(const with_sentinels& group) {
        return "redis+sentinel://" + group.addresses() + "/" + with_sentinels::name + "?prefix=multi";
    }
    // One client of each group.
    std::deque<client> join(client_options options = {}) {
        std::deque<client> all;
        for (const with_sentinels& group : groups) all.emplace_back(url_of(group), options);
        return all;
    }
    static std::vector<multi_lock::place> stock(std::deque<client>& of) {
        std::vector<multi_lock::place> places;
        for (client& one : of) places.emplace_back(one, "stock");
        return places;
    }
    std::size_t held() {
        std::size_t on = 0;
        for (const with_sentinels& group : groups) {
            client looks{url_of(group)};
            std::error_code ec;
            on += looks.list(ec).size();
        }
        return on;
    }

    std::deque<with_sentinels> groups = std::deque<with_sentinels>(3);
};

TEST_F(redis_lost_grants_of_three, one_that_fails_over_before_it_has_replicated_lets_nobody_in) {
    constexpr auto lease = 3s;
    auto mine = join();
    auto theirs = join();
    for (client& one : mine) one.acquire("warm").release();
    server& master = *groups[0].master();
    severed_replicas replicas{master, groups[0].nodes()};
    ASSERT_GT(replicas.count(), 0u);
    multi_lock ours{stock(mine), {.lease = lease}, valid_while::any};
    multi_hold held_by_us = ours.acquire();
    master.kill();
    replicas.heal();
    groups[0].await_master_other_than(master);
    multi_lock rival{stock(theirs), {.lease = lease}, valid_while::any};
    const auto until = boot_clock::now() + 3 * lease;
    while (boot_clock::now() < until) {
        const multi_attempt got = rival.try_acquire_for(500ms);
        ASSERT_FALSE(got) << "a second one was let in";
        ASSERT_TRUE(held_by_us.valid());
    }
    EXPECT_TRUE(held_by_us.at_risk());
    EXPECT_FALSE(held_by_us.lost().stop_requested());
    EXPECT_EQ(held_by_us.release(), release_result::released);
    EXPECT_TRUE(rival.try_acquire_for(60s));
}

TEST_F(redis_lost_grants_of_three, one_that_is_away_refuses_it_and_the_others_keep_nothing) {
    auto mine = join({.patience = 1s});
    for (const auto& one : groups[2].nodes()) one->kill();
    multi_lock ours{stock(mine), {.lease = 1min}, valid_while::any};
    const multi_attempt none = ours.try_acquire();
    EXPECT_EQ(none.reason(), errc::unreachable);
    EXPECT_EQ(none.in_the_way(), "stock");
    EXPECT_TRUE(eventually([&] { return held() == 0; }, 20s));
}

}  // namespace
}  // namespace mortise::stores::redis::servers
