// After an interruption everything is asked for at once, not when it would be due.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/redis/servers/suite.hpp"
#include "support/recording_observer.hpp"

#include <future>

#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::eventually;
using mortise::testing::recording_observer;
using mortise::testing::tcp_proxy;

// A third of it, when it would be renewed, is longer than any test waits.
constexpr auto long_lease = 10min;

class redis_reconnect : public on_one_server {
protected:
    void interrupt() {
        proxy_.refuse();
        proxy_.cut();
    }
    void mend() { proxy_.accept(); }

    tcp_proxy proxy_{node().port()};
    std::shared_ptr<recording_observer> seen_ = std::make_shared<recording_observer>();
    client locks_{url(proxy_.port()), {.observer = seen_}};
};

TEST_F(redis_reconnect, a_hold_that_is_gone_is_told_as_lost) {
    const hold renewed = locks_.acquire("renewed", {.lease = long_lease});
    const hold fixed = locks_.acquire("fixed", {.lease = long_lease, .renew = renew::off});
    interrupt();
    node().command({"flushall"});
    EXPECT_TRUE(renewed.valid()) << "nobody has told it yet";
    mend();
    EXPECT_TRUE(seen_->wait_for(event_kind::lost, 2));
    EXPECT_FALSE(renewed.valid());
    EXPECT_FALSE(fixed.valid());
    EXPECT_TRUE(renewed.lost().stop_requested());
}

TEST_F(redis_reconnect, a_hold_that_is_there_is_renewed) {
    const hold mine = locks_.acquire("x", {.lease = long_lease});
    interrupt();
    mend();
    EXPECT_TRUE(seen_->wait_for(event_kind::renewed));
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(seen_->count(event_kind::lost), 0u);
}

TEST_F(redis_reconnect, a_claim_that_waits_is_asked_for) {
    client other{url()};
    hold first = other.acquire("x");
    auto waits =
        std::async(std::launch::async, [&] { return locks_.try_acquire("x", {.wait = 60s, .lease = long_lease}); });
    ASSERT_TRUE(await_waiting("x", 1));
    interrupt();
    EXPECT_EQ(first.release(), release_result::released);
    mend();
    ASSERT_EQ(waits.wait_for(20s), std::future_status::ready);
    EXPECT_TRUE(waits.get());
}

TEST_F(redis_reconnect, a_server_that_comes_back_empty_is_no_reason_to_believe_in_a_hold) {
    const hold mine = locks_.acquire("x", {.lease = long_lease});
    node().kill();
    node().restart();
    EXPECT_TRUE(seen_->wait_for(event_kind::lost));
    EXPECT_FALSE(mine.valid());
    attempt next = locks_.try_acquire("x");
    ASSERT_TRUE(next) << next.refusal().describe();
    EXPECT_GT(next->token(), mine.token()) << "though the server has forgotten the last one";
}

}  // namespace
}  // namespace mortise::stores::redis::servers
