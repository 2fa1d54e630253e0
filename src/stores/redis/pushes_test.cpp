// Grants that were pushed and never arrived: the wait ends all the same, soon, and no lock is left to nobody.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/redis/servers/suite.hpp"

#include <future>

#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::eventually;
using mortise::testing::tcp_proxy;
using mortise::testing::way;

class redis_pushes : public on_one_server {
protected:
    // Waits for "x" behind the proxy; in line when this returns.
    std::future<attempt> wait_behind_the_proxy() {
        auto waits =
            std::async(std::launch::async, [this] { return far_.try_acquire("x", {.wait = 60s, .lease = 2s}); });
        EXPECT_TRUE(await_waiting("x", 1));
        return waits;
    }
    // Gives "x" back, and the push that follows is lost.
    void release_unheard(hold& mine) {
        proxy_.swallow(way::to_client);
        const std::size_t before = proxy_.bytes_seen(way::to_client);
        const token last = mine.token();
        EXPECT_EQ(mine.release(), release_result::released);
        EXPECT_TRUE(eventually([&] { return proxy_.bytes_seen(way::to_client) > before; })) << "nothing was pushed";
        const auto now = held("x");
        ASSERT_EQ(now.size(), 1u);
        EXPECT_GT(now.front().holder.token, last);
    }

    tcp_proxy proxy_{node().port()};
    client near_{url()};
    client far_{url(proxy_.port()), {.patience = 60s}};  // it may hear nothing for a while
};

TEST_F(redis_pushes, one_that_is_dropped_is_found_by_asking_again) {
    hold first = near_.acquire("x");
    const token before = first.token();
    auto waits = wait_behind_the_proxy();
    release_unheard(first);
    proxy_.swallow(way::to_client, false);
    attempt got = waits.get();
    ASSERT_TRUE(got) << got.refusal().describe();
    EXPECT_GT(got->token(), before);
    EXPECT_TRUE(got->valid());
    EXPECT_EQ(got->release(), release_result::released);
    EXPECT_TRUE(held("x").empty());
}

TEST_F(redis_pushes, a_grant_that_nobody_hears_of_goes_on_to_the_next_and_the_first_comes_again) {
    hold first = near_.acquire("x");
    auto waits = wait_behind_the_proxy();
    release_unheard(first);
    const token unheard = held("x").front().holder.token;
    attempt next = near_.try_acquire("x", {.wait = 60s});  // while nothing reaches the one whose turn it was
    ASSERT_TRUE(next) << next.refusal().describe();
    EXPECT_GT(next->token(), unheard);
    EXPECT_EQ(waits.wait_for(0s), std::future_status::timeout);
    const token second = next->token();
    proxy_.swallow(way::to_client, false);
    proxy_.cut();  // a reply may be missing: no connection loses that and goes on
    EXPECT_EQ(next->release(), release_result::released);
    attempt got = waits.get();
    ASSERT_TRUE(got) << got.refusal().describe();
    EXPECT_GT(got->token(), second);
}

}  // namespace
}  // namespace mortise::stores::redis::servers
