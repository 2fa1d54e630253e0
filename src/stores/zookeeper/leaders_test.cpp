// Three servers, and what becomes of locks when the leader dies, comes back or stands still.
#include "checker/history/audit.hpp"
#include "checker/history/traffic.hpp"
#include "stores/zookeeper/fixture.hpp"
#include "stores/zookeeper/servers/suite.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace servers;

class zookeeper_leaders : public ::testing::Test {
protected:
    ensemble zk_{3};
    const std::string url_ = "zookeeper://" + zk_.addresses() + "?session=10s";

    server& leader() {
        server* found = nullptr;
        EXPECT_TRUE(eventually([&] { return (found = zk_.leader()) != nullptr; }, plenty));
        return *found;
    }
    bool another_leads(const server& than) {
        return eventually([&] { return zk_.leader() != nullptr && zk_.leader() != &than; }, plenty);
    }
};

// C9: what Redis cannot promise.
TEST_F(zookeeper_leaders, a_grant_outlives_the_leader_that_gave_it) {
    client locks{url_};
    client others{url_, {.patience = plenty}};
    server& first = leader();
    hold mine = locks.acquire("n", {.wait = plenty});
    first.kill();
    ASSERT_TRUE(another_leads(first));
    attempt theirs = others.try_acquire("n");
    EXPECT_EQ(theirs.reason(), errc::busy) << theirs.refusal().describe();
    EXPECT_TRUE(mine.valid());
    const token before = mine.token();
    EXPECT_EQ(mine.release(), release_result::released);
    attempt next = others.try_acquire("n", {.wait = plenty});
    ASSERT_TRUE(next) << next.refusal().describe();
    EXPECT_GT(next->token(), before);
}

// One leader is killed and comes back, one stands still for longer than a session would need to be noticed missing.
TEST_F(zookeeper_leaders, may_die_and_stand_still_during_traffic_without_an_overlap) {
    testing::traffic cars{{.urls = {url_, url_, url_, url_},
                           .names = {"x", "y"},
                           .how = {.wait = plenty, .hand_over = hand_over::off},
                           .client = {.patience = plenty}}};
    const auto flows = [&] {
        const auto before = cars.visits();
        return eventually([&] { return cars.visits() > before + 50; }, plenty);
    };
    const auto expect_no_orphans = [&] {  // nor anything idle for longer than a session and a little
        const auto found = testing::audit(
            10s + 2s, [&] { return records_at(url_); }, [&] { return cars.admitted(); });
        EXPECT_TRUE(found.innocent()) << found.describe();
    };
    EXPECT_TRUE(flows());
    server& killed = leader();
    killed.kill();
    EXPECT_TRUE(another_leads(killed));
    EXPECT_TRUE(flows()) << "two of three serve";
    killed.restart();
    zk_.await_serving();
    EXPECT_TRUE(flows());
    expect_no_orphans();
    server& frozen = leader();
    frozen.freeze();
    EXPECT_TRUE(another_leads(frozen));
    EXPECT_TRUE(flows());
    frozen.thaw();
    EXPECT_TRUE(flows());
    expect_no_orphans();
    const auto seen = cars.stop();
    EXPECT_EQ(seen.overlaps, 0u);
    EXPECT_EQ(seen.token_disorders, 0u);
    EXPECT_GT(seen.visits, 200u);
    EXPECT_EQ(seen.refused, 0u) << seen.last_refusal;
}

// The one that is left is no majority and lets itself be read only: nobody gets a lock, and that is said.
TEST_F(zookeeper_leaders, without_a_majority_nothing_is_granted) {
    client locks{url_, {.patience = 2s}};
    client newcomer{url_, {.patience = 2s}};
    attempt got = locks.try_acquire("n", {.wait = plenty});
    ASSERT_TRUE(
        eventually([&] { return got || static_cast<bool>(got = locks.try_acquire("n", {.wait = plenty})); }, plenty))
        << got.refusal().describe();
    hold mine = *std::move(got);
    zk_[0].kill();
    zk_[1].kill();
    got = locks.try_acquire("m", {.wait = plenty});
    EXPECT_EQ(got.reason(), errc::unreachable) << got.refusal().describe();
    EXPECT_TRUE(eventually([&] { return !mine.valid(); }, plenty)) << "nobody can vouch for it";
    ASSERT_TRUE(eventually([&] { return zk_[2].mode() == "read-only"; }, plenty));
    for (client* each : {&locks, &newcomer}) {
        got = each->try_acquire("m", {.wait = plenty});
        EXPECT_EQ(got.reason(), errc::unreachable) << got.refusal().describe();
        EXPECT_EQ(got.refusal().describe().find('\n'), std::string::npos);
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
