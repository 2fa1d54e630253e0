// Processes that are killed or stopped while they hold or wait.
#include "stores/redis/servers/suite.hpp"
#include "support/children.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::child;
using mortise::testing::eventually;
using mortise::testing::milestone;

class redis_killed : public on_one_server {
protected:
    child holder(std::chrono::nanoseconds lease) {
        milestone ready;
        child made{[&] {
            client locks{url()};
            const hold mine = locks.acquire("x", {.lease = lease});
            ready.reach(mine.valid() ? 'y' : 'n');
            ::pause();
            return 0;
        }};
        EXPECT_EQ(ready.await(), 'y');
        return made;
    }
    // In line when this returns, at that place.
    child waiter(std::size_t place) {
        child made{[&] {
            client locks{url()};
            const hold mine = locks.acquire("x");
            ::pause();
            return 0;
        }};
        EXPECT_TRUE(await_waiting("x", place));
        return made;
    }
    // Of clients that are connected.
    std::size_t inboxes() {
        const std::string all = node().command({"pubsub", "channels", prefix_ + ":inbox:*"});
        return static_cast<std::size_t>(std::ranges::count(all, '\n')) + (all.empty() ? 0 : 1);
    }
};

TEST_F(redis_killed, a_holder_is_followed_when_its_lease_is_over_and_not_before) {
    child dies = holder(2s);
    client locks{url()};
    dies.kill();
    const auto left = held("x");
    ASSERT_EQ(left.size(), 1u) << "gone before its lease was over";
    attempt got = locks.try_acquire("x", {.wait = 60s});
    ASSERT_TRUE(got) << got.refusal().describe();
    EXPECT_GT(got->token(), left.front().holder.token);
}

TEST_F(redis_killed, a_waiter_is_passed_over) {
    client locks{url()};
    client next{url()};
    hold mine = locks.acquire("x");
    child dies = waiter(1);
    const std::size_t before = inboxes();
    dies.kill();
    ASSERT_TRUE(eventually([&] { return inboxes() < before; })) << "the server has not noticed";
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(next.try_acquire("x")) << "which does not wait";
}

// Its connection stands, so the grant is pushed to it and is its own for a moment.
TEST_F(redis_killed, a_waiter_that_is_stopped_keeps_nobody_out_for_long) {
    client locks{url()};
    client next{url()};
    hold mine = locks.acquire("x");
    child stops = waiter(1);
    stops.tell(SIGSTOP);
    ASSERT_TRUE(stops.stopped());
    EXPECT_EQ(mine.release(), release_result::released);
    attempt got = next.try_acquire("x", {.wait = 60s});
    ASSERT_TRUE(got) << got.refusal().describe();
    stops.tell(SIGCONT);
    ASSERT_TRUE(await_waiting("x", 1)) << "it comes again";
    EXPECT_TRUE(got->valid());
    EXPECT_EQ(got->release(), release_result::released);
    EXPECT_TRUE(eventually([&] { return held("x").size() == 1 && held("x").front().holder.pid == stops.pid(); }));
}

}  // namespace
}  // namespace mortise::stores::redis::servers
