// A cluster whose slots move and whose nodes are not there.
#include "stores/redis/servers/cluster.hpp"

#include "checker/history/traffic.hpp"
#include "stores/redis/names.hpp"
#include "support/recording_observer.hpp"
#include "support/waiting.hpp"

#include <chrono>
#include <memory>

#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using namespace std::chrono_literals;
using mortise::testing::eventually;
using mortise::testing::recording_observer;
using mortise::testing::traffic;

class redis_cluster : public ::testing::Test {
protected:
    static void SetUpTestSuite() { redis_ = std::make_unique<cluster>(); }
    static void TearDownTestSuite() { redis_.reset(); }

    std::string url() const { return "redis+cluster://" + redis_->addresses() + "?prefix=" + prefix_; }
    std::uint16_t slot_of_name(const std::string& name) const { return slot_of(key_of(prefix_, name)); }
    // Another name in the slot of this one.
    std::string neighbour_of(const std::string& name) const {
        for (int i = 0;; ++i)
            if (const std::string other = name + std::to_string(i); slot_of_name(other) == slot_of_name(name))
                return other;
    }
    server& other_master_than(const server* one) const {
        for (server* master : redis_->keepers())
            if (master != one) return *master;
        throw std::runtime_error("no other master");
    }
    // What was answered with errors of that kind, so far.
    static std::uint64_t errors(const std::string& kind) {
        std::uint64_t all = 0;
        for (const auto& one : redis_->nodes()) {
            const std::string said = one->field({"info", "errorstats"}, "errorstat_" + kind);
            if (!said.empty()) all += std::stoull(said.substr(said.find('=') + 1));
        }
        return all;
    }

    const std::string prefix_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    static inline std::unique_ptr<cluster> redis_;
};

TEST_F(redis_cluster, a_slot_that_wanders_under_load_takes_its_locks_along) {
    const std::uint16_t slot = slot_of_name("x");
    const std::uint64_t moved = errors("MOVED");
    const std::uint64_t asked = errors("ASK");
    traffic crowd{{.urls = std::vector<std::string>(4, url()),
                   .names = {"x", neighbour_of("x")},
                   .how = {.wait = 60s},
                   .client = {.patience = 60s}}};
    for (int i = 0; i < 12; ++i) {
        const std::uint64_t before = crowd.visits();
        server& to = other_master_than(redis_->master_of(slot));
        redis_->begin_move(slot, to);
        std::this_thread::sleep_for(20ms);  // while new names are made there and old ones are kept here
        redis_->end_move(slot, to);
        ASSERT_TRUE(eventually([&] { return crowd.visits() > before + 10; }, 60s)) << "stuck after move " << i;
        redis_->await_settled();
    }
    const auto said = crowd.stop();
    EXPECT_EQ(said.overlaps, 0u);
    EXPECT_EQ(said.token_disorders, 0u);
    EXPECT_EQ(said.lost, 0u);
    EXPECT_EQ(said.refused, 0u) << said.last_refusal;
    EXPECT_GT(errors("MOVED"), moved);
    EXPECT_GT(errors("ASK"), asked);
    redis_->await_settled();
}

TEST_F(redis_cluster, names_that_are_renewed_together_are_renewed_apart_while_one_of_them_has_moved) {
    const auto seen = std::make_shared<recording_observer>();
    const std::string second = neighbour_of("x");
    const std::uint16_t slot = slot_of_name("x");
    client locks{url(), {.patience = 60s, .observer = seen}};
    hold one = locks.acquire("x", {.lease = 6s});
    hold two = locks.acquire(second, {.lease = 6s});
    server& from = *redis_->master_of(slot);
    server& to = other_master_than(&from);
    const std::uint64_t before = errors("TRYAGAIN");
    redis_->begin_move(slot, to);
    from.command({"migrate", "127.0.0.1", std::to_string(to.port()), key_of(prefix_, "x"), "0", "10000"});
    from.command({"client", "kill", "type", "normal"});  // and so both are asked for at once
    EXPECT_TRUE(eventually([&] { return errors("TRYAGAIN") > before; }));
    const auto renewed = [&](const std::string& name) { return seen->count(event_kind::renewed, name); };
    EXPECT_TRUE(eventually([&] { return renewed("x") > 1 && renewed(second) > 1; }));
    EXPECT_EQ(seen->count(event_kind::lost), 0u);
    redis_->end_move(slot, to);
    EXPECT_EQ(one.release(), release_result::released);
    EXPECT_EQ(two.release(), release_result::released);
    redis_->await_settled();
}

TEST_F(redis_cluster, a_name_that_is_first_taken_while_its_slot_is_on_the_way_is_not_forgotten) {
    const std::uint16_t slot = slot_of_name("x");
    const std::string durable_name = neighbour_of("x");
    client locks{url(), {.patience = 60s}};
    client durable{url() + "&wait=1", {.patience = 60s}};
    client other{url(), {.patience = 60s}};
    server& to = other_master_than(redis_->master_of(slot));
    redis_->begin_move(slot, to);
    hold mine = locks.acquire("x", {.lease = 60s});  // there already: it asks
    hold kept = durable.acquire(durable_name, {.lease = 60s});
    const auto both_are_busy = [&] {
        return other.try_acquire("x").reason() == errc::busy && other.try_acquire(durable_name).reason() == errc::busy;
    };
    EXPECT_TRUE(both_are_busy());
    redis_->end_move(slot, to);
    EXPECT_TRUE(both_are_busy());
    EXPECT_TRUE(mine.valid() && kept.valid());
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_EQ(kept.release(), release_result::released);
    EXPECT_TRUE(other.try_acquire("x"));
    EXPECT_TRUE(other.try_acquire(durable_name));
    redis_->await_settled();
}

TEST_F(redis_cluster, a_node_that_is_down_when_the_client_comes_keeps_only_its_own_slots_from_it) {
    server& down = *redis_->nodes().front();  // the first of the addresses
    std::string mine = "x";                   // a name of the shard of that node, and one of another
    std::string others = "x";
    const auto shard = [](std::uint16_t slot) { return slot * cluster::masters / 16384; };
    for (int i = 0; shard(slot_of_name(mine)) != 0; ++i) mine = "x" + std::to_string(i);
    for (int i = 0; shard(slot_of_name(others)) != 1; ++i) others = "x" + std::to_string(i);
    down.kill();
    client locks{url(), {.patience = 60s}};
    EXPECT_TRUE(locks.try_acquire(others));
    EXPECT_TRUE(locks.try_acquire(mine)) << "when its replica has taken its place";
    down.restart();
    redis_->await_settled();
    EXPECT_TRUE(locks.try_acquire(mine));
    EXPECT_TRUE(locks.try_acquire(others));
}

}  // namespace
}  // namespace mortise::stores::redis::servers
