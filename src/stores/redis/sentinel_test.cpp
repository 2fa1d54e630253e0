// What is acknowledged by replicas outlives the master, and a master that was replaced grants nothing.
#include "stores/redis/servers/with_sentinels.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class redis_sentinel : public ::testing::Test {
protected:
    static void SetUpTestSuite() { redis_ = std::make_unique<with_sentinels>(); }
    static void TearDownTestSuite() { redis_.reset(); }

    std::string url() const {
        return "redis+sentinel://" + redis_->addresses() + "/" + with_sentinels::name + "?prefix=" + prefix_;
    }
    std::string url_of(const server& one) const { return "redis://" + one.address() + "?prefix=" + prefix_; }

    const std::string prefix_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    static inline std::unique_ptr<with_sentinels> redis_;
};

TEST_F(redis_sentinel, a_grant_that_both_replicas_have_outlives_its_master) {
    client first{url(), {.durability = durability::wait(2)}};
    client second{url(), {.patience = 60s}};
    hold mine = first.acquire("x", {.lease = 60s});
    server& old = *redis_->master();
    old.kill();
    redis_->await_master_other_than(old);
    const attempt other = second.try_acquire("x");
    ASSERT_FALSE(other) << "it was lost with its master";
    EXPECT_EQ(other.reason(), errc::busy) << other.refusal().describe();
    EXPECT_TRUE(mine.valid());
    const token before = mine.token();
    EXPECT_EQ(mine.release(), release_result::released);
    attempt next = second.try_acquire("x", {.wait = 60s});
    ASSERT_TRUE(next) << next.refusal().describe();
    EXPECT_GT(next->token(), before);
    old.restart();
    redis_->await_settled();
}

TEST_F(redis_sentinel, a_claim_that_too_few_replicas_acknowledge_is_refused_and_given_back) {
    client locks{url() + "&wait_timeout=200ms", {.patience = 3s}};
    const attempt got = locks.try_acquire("x", {.durability = durability::wait(3)});  // and there are two
    ASSERT_EQ(got.reason(), errc::unreachable);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("2 of 3 replicas"));
    EXPECT_TRUE(locks.try_acquire("x", {.wait = 20s, .durability = durability::wait(2)}));
}

TEST_F(redis_sentinel, a_master_that_was_frozen_and_replaced_grants_nothing) {
    server& old = *redis_->master();
    client late{url_of(old) + "&wait=2&wait_timeout=300ms", {.patience = 2s}};
    { const hold warm = late.acquire("x"); }
    old.freeze();
    redis_->await_master_other_than(old);
    client locks{url(), {.patience = 60s}};
    attempt mine = locks.try_acquire("x", {.wait = 60s, .lease = 60s, .durability = durability::wait(1)});
    ASSERT_TRUE(mine) << mine.refusal().describe();
    old.thaw();
    const attempt got = late.try_acquire("x");
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_TRUE(mine->valid());
    redis_->await_settled();
    EXPECT_EQ(mine->release(), release_result::released);
}

}  // namespace
}  // namespace mortise::stores::redis::servers
