// Masters that are killed or frozen in turn while clients contend, each grant on both replicas: no two hold at once.
//
// make failovers (MORTISE_STORMS_IN_FULL=1) does this for longer.
#include "checker/history/audit.hpp"
#include "checker/history/traffic.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/servers/cluster.hpp"
#include "stores/redis/servers/records.hpp"
#include "stores/redis/servers/with_sentinels.hpp"
#include "support/waiting.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using namespace std::chrono_literals;
namespace testing = mortise::testing;
using mortise::testing::eventually;
using mortise::testing::traffic;

int number_of_failovers(int usual) {
    return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr ? 50 : usual;
}

const std::vector<std::string> contended{"a", "b", "c"};

traffic::plan contention(const std::string& url) {
    return {.urls = std::vector<std::string>(4, url),
            .names = contended,
            .how = {.wait = 60s, .lease = 3s},
            .stay = 20ms,
            .client = {.patience = 60s}};
}

// Every failover in the same way: the master goes, another is made, the old one comes back as its replica.
template <class Servers, class Master, class Promoted>
void fail_over(Servers& redis, bool kills, Master master, Promoted await_other) {
    server& old = master();
    kills ? old.kill() : old.freeze();
    await_other(old);
    kills ? old.restart() : old.thaw();
    redis.await_settled();
}

// The lease of all claims, and a little.
constexpr std::chrono::seconds bound = 3s + 2s;

template <class Servers>
void expect_no_orphans(Servers& redis, const traffic& crowd) {
    const auto found = testing::audit(
        bound, [&] { return records_of(redis.keepers(), "mortise"); }, [&] { return crowd.admitted(); });
    EXPECT_TRUE(found.innocent()) << found.describe();
}

void judge(const char* what, int times, const traffic::verdict& said) {
    std::cout << what << ": failovers=" << times << " visits=" << said.visits << " overlaps=" << said.overlaps
              << " token_disorders=" << said.token_disorders << " lost=" << said.lost << " refused=" << said.refused
              << "\n";
    EXPECT_EQ(said.overlaps, 0u);
    EXPECT_EQ(said.token_disorders, 0u);
    EXPECT_EQ(said.refused, 0u) << said.last_refusal;
}

TEST(redis_failovers, of_a_master_that_sentinels_watch_let_nobody_in_twice) {
    with_sentinels redis;
    traffic crowd{contention("redis+sentinel://" + redis.addresses() + "/" + with_sentinels::name + "?wait=2")};
    const int times = number_of_failovers(3);
    for (int i = 0; i < times; ++i) {
        const std::uint64_t before = crowd.visits();
        ASSERT_TRUE(eventually([&] { return crowd.visits() > before + 10; }, 60s)) << "stuck before failover " << i;
        fail_over(
            redis, i % 2 == 0, [&]() -> server& { return *redis.master(); },
            [&](server& old) { redis.await_master_other_than(old); });
        expect_no_orphans(redis, crowd);
    }
    const std::uint64_t before = crowd.visits();
    EXPECT_TRUE(eventually([&] { return crowd.visits() > before + 10; }, 60s)) << "stuck at the end";
    judge("sentinels", times, crowd.stop());
}

TEST(redis_failovers, of_the_shards_of_a_cluster_let_nobody_in_twice) {
    cluster redis;
    traffic crowd{contention("redis+cluster://" + redis.addresses() + "?wait=1")};
    const int times = number_of_failovers(2);
    for (int i = 0; i < times; ++i) {
        const std::uint64_t before = crowd.visits();
        ASSERT_TRUE(eventually([&] { return crowd.visits() > before + 10; }, 60s)) << "stuck before failover " << i;
        const std::uint16_t slot =
            slot_of(key_of("mortise", contended[static_cast<std::size_t>(i) % contended.size()]));
        fail_over(
            redis, i % 2 == 0, [&]() -> server& { return *redis.master_of(slot); },
            [&](server& old) { redis.await_master_other_than(old, slot); });
        expect_no_orphans(redis, crowd);
    }
    const std::uint64_t before = crowd.visits();
    EXPECT_TRUE(eventually([&] { return crowd.visits() > before + 10; }, 60s)) << "stuck at the end";
    judge("cluster", times, crowd.stop());
}

}  // namespace
}  // namespace mortise::stores::redis::servers
