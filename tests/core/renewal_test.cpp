// Renewal: when, for whom, and when no more.
#include "fleet.hpp"

#include <mortise/error.hpp>

#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class renewal : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
};

TEST_F(renewal, the_default_lease_is_thirty_seconds) {
    const hold held = mine.locks.acquire("job");
    EXPECT_EQ(held.remaining(), 30s - 300ms - 2ms);
    EXPECT_EQ(mine.locks.promises().default_lease, 30s);
}

TEST_F(renewal, a_lease_of_thirty_seconds_is_renewed_at_ten) {
    const hold held = mine.locks.acquire("job");
    world.advance(10s - 1ns);
    EXPECT_EQ(mine.net->calls(verb::renew), 0u);
    world.advance(1ns);
    EXPECT_EQ(mine.net->calls(verb::renew), 1u);
    EXPECT_EQ(held.remaining(), 30s - 302ms);

    const auto events = mine.seen->events("job");
    ASSERT_EQ(mine.seen->story("job"), "claimed granted renewed");
    EXPECT_EQ(events[2].at, sim_clock::default_start + 10s);
    EXPECT_EQ(events[2].took, 20s - 302ms);  // the slack that was left
    EXPECT_EQ(events[2].token, held.token());
}

TEST_F(renewal, it_goes_on_for_as_long_as_the_hold_lives) {
    const hold held = mine.locks.acquire("job");
    const token first = held.token();
    world.advance(1h);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.token(), first);
    EXPECT_EQ(mine.net->calls(verb::renew), 360u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed), 360u);
    EXPECT_EQ(mine.seen->count(event_kind::at_risk), 0u);
    EXPECT_FALSE(world.free("job"));
}

TEST_F(renewal, naming_a_lease_does_not_switch_it_off) {
    const hold held = mine.locks.acquire("job", {.lease = 3s});
    world.advance(1s);
    EXPECT_EQ(mine.net->calls(verb::renew), 1u);
    world.advance(1min);
    EXPECT_TRUE(held.valid());
}

TEST_F(renewal, switched_off_it_ends_at_its_lease) {
    const hold held = mine.locks.acquire("job", {.lease = 6s, .renew = renew::off});
    world.advance(6s - 62ms - 1ns);
    EXPECT_TRUE(held.valid());
    world.advance(1ns);
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(held.lost().stop_requested());
    EXPECT_EQ(mine.seen->story("job"), "claimed granted lost");  // never at risk: nothing was tried
    EXPECT_EQ(mine.net->calls(verb::renew), 0u);
    world.advance(62ms);
    EXPECT_TRUE(world.empty());
}

TEST_F(renewal, many_holds_are_renewed_in_one_call) {
    std::vector<hold> held;
    held.reserve(500);
    for (int i = 0; i < 500; ++i) held.push_back(mine.locks.acquire("job " + std::to_string(i)));
    world.advance(10s);
    EXPECT_EQ(mine.net->calls(verb::renew), 1u);
    EXPECT_EQ(mine.net->ids(verb::renew), 500u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed), 500u);
    world.advance(10min);
    EXPECT_EQ(mine.net->calls(verb::renew), 61u);
    for (const hold& one : held) EXPECT_TRUE(one.valid());
}

TEST_F(renewal, one_that_is_nearly_due_goes_along_with_one_that_is) {
    const hold first = mine.locks.acquire("first");
    world.advance(900ms);
    const hold soon = mine.locks.acquire("soon");
    world.advance(1s);
    const hold later = mine.locks.acquire("later");
    world.advance(8100ms);
    EXPECT_EQ(mine.net->calls(verb::renew), 1u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "first"), 1u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "soon"), 1u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "later"), 0u);
    world.advance(10s);  // the two together from now on
    EXPECT_EQ(mine.net->calls(verb::renew), 3u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "soon"), 2u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "later"), 1u);
}

// Else whoever asks for another name waits behind all of them, and again at each third of the lease.
TEST_F(renewal, those_of_very_many_holds_stay_as_they_are_spread) {
    std::vector<hold> held;
    for (int i = 0; i < 6000; ++i) {
        held.push_back(mine.locks.acquire("job " + std::to_string(i)));
        world.advance(100us);
    }
    world.advance(10s - 600ms);  // the first is due
    EXPECT_EQ(mine.net->calls(verb::renew), 1u);
    EXPECT_LT(mine.seen->count(event_kind::renewed), 2000u);
    world.advance(600ms);
    EXPECT_EQ(mine.seen->count(event_kind::renewed), 6000u);
    EXPECT_LT(mine.net->calls(verb::renew), 20u) << "yet they are few requests";
}

TEST_F(renewal, each_lease_has_its_own_pace) {
    const hold slow = mine.locks.acquire("slow", {.lease = 1h});
    const hold fast = mine.locks.acquire("fast", {.lease = 3s});
    world.advance(17min);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "slow"), 0u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "fast"), 17u * 60u);
    world.advance(3min);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "slow"), 1u);
    EXPECT_TRUE(slow.valid());
    EXPECT_TRUE(fast.valid());
}

TEST_F(renewal, what_was_released_is_not_renewed) {
    hold kept = mine.locks.acquire("kept");
    hold given = mine.locks.acquire("given");
    { const hold dropped = mine.locks.acquire("dropped"); }
    given.release();
    world.advance(1min);
    EXPECT_EQ(mine.net->ids(verb::renew), 1u);
    EXPECT_GT(mine.seen->count(event_kind::renewed, "kept"), 0u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed, "given"), 0u);

    kept.release();
    const auto calls = mine.net->calls(verb::renew);
    world.advance(1h);
    EXPECT_EQ(mine.net->calls(verb::renew), calls);
}

TEST_F(renewal, nothing_renews_after_loss_nor_claims_again) {
    const hold held = mine.locks.acquire("job");
    mine.net->freeze();
    world.advance(31s);
    ASSERT_FALSE(held.valid());
    const auto renewals = mine.net->calls(verb::renew);
    mine.net->thaw();  // renewals that were on their way arrive now
    world.advance(1h);
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(mine.net->calls(verb::renew), renewals);
    EXPECT_EQ(mine.net->calls(verb::claim), 1u);
    EXPECT_EQ(mine.seen->count(event_kind::renewed), 0u);
    EXPECT_EQ(mine.seen->count(event_kind::lost), 1u);
    EXPECT_TRUE(world.empty());
}

TEST_F(renewal, a_renewal_answered_after_the_deadline_does_not_revive) {
    const hold held = mine.locks.acquire("job");
    mine.net->delay(verb::renew, 0s, 25s);
    world.advance(29s);
    EXPECT_TRUE(held.valid());
    world.advance(10s);  // the first answer comes at 35 s: renewed, but too late for us
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(mine.seen->count(event_kind::lost), 1u);
    world.advance(1min);
    EXPECT_FALSE(held.valid());
}

TEST_F(renewal, without_an_answer_it_is_tried_again_every_tenth_of_the_lease) {
    const hold held = mine.locks.acquire("job");
    mine.net->lose_requests(verb::renew, fault_plan::for_ever);
    for (const unsigned expected : {1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
        world.advance(expected == 1 ? 10s : 3s);
        EXPECT_EQ(mine.net->calls(verb::renew), expected);
    }
    world.advance(1min);
    EXPECT_EQ(mine.net->calls(verb::renew), 7u);  // 10 s, 13 s ... 28 s; then it was over
    EXPECT_EQ(mine.seen->count(event_kind::at_risk), 1u);
}

TEST_F(renewal, the_hold_may_change_hands_inside_the_client_and_is_renewed_all_the_same) {
    hold first = mine.locks.acquire("job");
    call second(mine.locks, "job");
    world.advance(5s);
    first.release();
    world.settle();
    ASSERT_TRUE(second.granted());
    world.advance(10min);
    EXPECT_TRUE(second.hold().valid());
    EXPECT_EQ(mine.net->ids(verb::renew), 1u);
    EXPECT_EQ(mine.seen->events("job").back().token, second.hold().token());
}

TEST_F(renewal, a_detached_claim_is_renewed_while_its_hold_lives_and_outlives_it) {
    {
        const hold held = mine.locks.acquire("nightly", {.lease = 30s, .kept_by = kept_by::lease});
        world.advance(1min);
        EXPECT_TRUE(held.valid());
    }
    EXPECT_FALSE(world.free("nightly"));
    world.advance(30s);
    EXPECT_TRUE(world.free("nightly"));
}

}  // namespace
}  // namespace mortise::testing
