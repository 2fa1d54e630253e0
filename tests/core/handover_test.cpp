// Local hand-over: a release passes the grant to the next waiter of the same client without asking the store.
#include "fleet.hpp"

#include <mortise/error.hpp>

#include <deque>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class hand_over_inside : public ::testing::Test {
protected:
    std::uint64_t store_calls(const member& who) const {
        return who.net->calls(verb::claim) + who.net->calls(verb::renew) + who.net->calls(verb::release);
    }
    // Whether a release of the first passes its grant to a second call made with these options.
    bool shares(member& who, const claim_options& first, const claim_options& second) {
        hold held = who.locks.acquire("shared?", first);
        call next(who.locks, "shared?", second);
        world.settle();
        held.release();
        world.settle();
        EXPECT_TRUE(next.granted());
        EXPECT_GT(next.hold().token(), held.token());
        next.hold().release();  // a detached one would stay
        return next.hold().token().counter() == held.token().counter();
    }

    fleet world;
    member mine = world.join();
    member other = world.join();
};

TEST_F(hand_over_inside, the_next_waiter_has_the_same_counter_and_the_next_turn_at_no_cost) {
    hold first = mine.locks.acquire("job");
    call second(mine.locks, "job");
    call third(mine.locks, "job");
    world.settle();
    const auto calls = store_calls(mine);
    EXPECT_EQ(calls, 1u);  // one claim for all of them

    EXPECT_EQ(first.release(), release_result::released);
    world.settle();
    ASSERT_TRUE(second.granted());
    EXPECT_FALSE(third.answered());
    EXPECT_FALSE(first.valid());
    EXPECT_TRUE(second.hold().valid());
    EXPECT_EQ(second.hold().token(), token::of(first.token().counter(), 1));
    EXPECT_EQ(second.hold().release(), release_result::released);
    world.settle();
    ASSERT_TRUE(third.granted());
    EXPECT_EQ(third.hold().token(), token::of(first.token().counter(), 2));
    EXPECT_EQ(store_calls(mine), calls);

    third.hold().release();
    EXPECT_EQ(store_calls(mine), calls + 1);
    EXPECT_TRUE(world.empty());
}

TEST_F(hand_over_inside, a_former_holders_release_does_not_touch_its_successor) {
    hold first = mine.locks.acquire("job");
    call second(mine.locks, "job");
    first.release();
    world.settle();
    EXPECT_EQ(first.release(), release_result::released);  // its own answer, again
    EXPECT_TRUE(second.hold().valid());
    EXPECT_FALSE(world.free("job"));
}

TEST_F(hand_over_inside, waiters_are_served_in_order_and_tokens_strictly_rise) {
    hold first = mine.locks.acquire("job");
    std::deque<call> line;
    for (int i = 0; i < 100; ++i) line.emplace_back(mine.locks, "job");
    token last = first.token();
    first.release();
    for (std::size_t i = 0; i < line.size(); ++i) {
        world.settle();
        ASSERT_TRUE(line[i].granted()) << i;
        EXPECT_TRUE(i + 1 == line.size() || !line[i + 1].answered()) << i;
        EXPECT_GT(line[i].hold().token(), last);
        last = line[i].hold().token();
        line[i].hold().release();
    }
    EXPECT_TRUE(world.empty());
}

TEST_F(hand_over_inside, after_sixteen_turns_in_a_row_another_client_that_waits_gets_it) {
    hold first = mine.locks.acquire("job");
    std::deque<call> line;
    for (int i = 0; i < 20; ++i) line.emplace_back(mine.locks, "job");
    call stranger(other.locks, "job");
    world.settle();

    first.release();
    int turns = 1;
    world.settle();
    for (; !stranger.answered() && turns < 20; ++turns) {
        ASSERT_TRUE(line.front().granted());
        EXPECT_EQ(line.front().hold().token().counter(), first.token().counter());
        line.front().hold().release();
        line.pop_front();
        world.settle();
    }
    EXPECT_EQ(turns, 16);
    ASSERT_TRUE(stranger.granted());
    EXPECT_FALSE(line.front().answered());

    stranger.hold().release();  // and then it is ours again, first in line first
    world.settle();
    ASSERT_TRUE(line.front().granted());
    EXPECT_GT(line.front().hold().token(), stranger.hold().token());
}

TEST_F(hand_over_inside, the_number_of_turns_is_an_option) {
    for (const unsigned turns : {2u, 3u}) {
        client_options options = fleet::quick();
        options.hand_over_turns = turns;
        member one = world.join(options);
        hold first = one.locks.acquire("job");
        std::deque<call> line;
        for (unsigned i = 0; i < turns; ++i) line.emplace_back(one.locks, "job");
        const auto counter = first.token().counter();
        first.release();
        for (unsigned i = 1; i < turns; ++i) {
            world.settle();
            EXPECT_EQ(line.front().hold().token(), token::of(counter, i));
            line.pop_front();
            world.settle();
        }
        ASSERT_TRUE(line.front().granted());
        EXPECT_GT(line.front().hold().token().counter(), counter);
    }
}

TEST_F(hand_over_inside, it_can_be_switched_off) {
    EXPECT_TRUE(shares(mine, {}, {}));
    EXPECT_FALSE(shares(mine, {.hand_over = hand_over::off}, {.hand_over = hand_over::off}));
    client_options options = fleet::quick();
    options.hand_over_turns = 0;
    member never = world.join(options);
    EXPECT_FALSE(shares(never, {}, {}));
}

TEST_F(hand_over_inside, only_equal_any_order_claims_share) {
    EXPECT_FALSE(shares(mine, {.order = order::fifo}, {.order = order::fifo}));
    EXPECT_FALSE(shares(mine, {}, {.order = order::fifo}));
    EXPECT_FALSE(shares(mine, {.label = "a"}, {.label = "b"}));
    EXPECT_FALSE(shares(mine, {.lease = 20s}, {.lease = 40s}));
    EXPECT_FALSE(shares(mine, {}, {.lease = 20s}));
    EXPECT_FALSE(shares(mine, {.renew = renew::off}, {.renew = renew::off}));
    EXPECT_FALSE(shares(mine, {}, {.hand_over = hand_over::off}));
    EXPECT_FALSE(shares(mine, {.kept_by = kept_by::lease}, {.kept_by = kept_by::lease}));
    EXPECT_TRUE(shares(mine, {.lease = 20s, .label = "a"}, {.lease = 20s, .label = "a"}));
    EXPECT_TRUE(shares(mine, {.lease = 30s}, {}));  // the default, spelt out
}

TEST_F(hand_over_inside, permits_of_a_shared_name_are_each_their_own) {
    call one(mine.locks, claim{.name = "pool", .capacity = 2});
    call two(mine.locks, claim{.name = "pool", .capacity = 2});
    call three(mine.locks, claim{.name = "pool", .capacity = 2});
    world.settle();
    EXPECT_TRUE(one.granted());
    EXPECT_TRUE(two.granted());
    EXPECT_FALSE(three.answered());
    const auto before = mine.net->calls(verb::release);
    one.hold().release();
    world.settle();
    EXPECT_TRUE(three.granted());
    EXPECT_EQ(mine.net->calls(verb::release), before + 1);
    EXPECT_GT(three.hold().token().counter(), one.hold().token().counter());
}

TEST_F(hand_over_inside, only_while_at_least_half_of_the_lease_remains) {
    for (const auto more : {0ns, 1ns}) {
        hold first = mine.locks.acquire("job");
        call second(mine.locks, "job");
        world.settle();
        world.clock().jump(15s - 302ms + more);  // a pause: no renewal has run
        EXPECT_EQ(first.remaining(), 15s - more);
        first.release();
        ASSERT_FALSE(second.answered());
        world.sim().notifier().run();
        ASSERT_TRUE(second.granted());
        const bool passed_on = second.hold().token().counter() == first.token().counter();
        EXPECT_EQ(passed_on, more == 0ns);
        EXPECT_EQ(second.hold().remaining(), passed_on ? 15s : 30s - 302ms);
    }
}

TEST_F(hand_over_inside, a_grant_at_risk_is_not_passed_on) {
    mine.net->fail(verb::renew, fault_plan::for_ever);
    hold first = mine.locks.acquire("job");
    call second(mine.locks, "job");
    world.advance(10s);
    ASSERT_EQ(mine.seen->count(event_kind::at_risk), 1u);
    first.release();
    world.settle();
    ASSERT_TRUE(second.granted());
    EXPECT_GT(second.hold().token().counter(), first.token().counter());
}

TEST_F(hand_over_inside, leaving_in_the_middle_changes_nothing_for_the_others) {
    hold first = mine.locks.acquire("job");
    std::stop_source stop;
    call second(mine.locks, "job");
    call leaving(mine.locks, "job", {.stop = stop.get_token()});
    call hasty(mine.locks, "job", {.wait = 1s});
    call last(mine.locks, "job");
    world.settle();
    stop.request_stop();
    world.advance(1s);
    EXPECT_EQ(leaving.reason(), errc::cancelled);
    EXPECT_EQ(leaving.refusal().place, 2u);
    EXPECT_EQ(hasty.reason(), errc::timed_out);
    EXPECT_EQ(mine.net->calls(verb::release), 0u);

    first.release();
    world.settle();
    ASSERT_TRUE(second.granted());
    second.hold().release();
    world.settle();
    EXPECT_TRUE(last.granted());
}

TEST_F(hand_over_inside, a_first_waiter_that_leaves_does_not_lose_the_place_of_those_behind_it) {
    hold held = other.locks.acquire("job");
    std::stop_source stop;
    call first(mine.locks, "job", {.stop = stop.get_token()});
    call second(mine.locks, "job");
    world.settle();
    member third = world.join();
    call rival(third.locks, "job");
    world.settle();
    EXPECT_EQ(world.waiting("job"), 2u);  // two clients, three calls

    stop.request_stop();
    world.settle();
    EXPECT_EQ(first.reason(), errc::cancelled);
    EXPECT_EQ(world.waiting("job"), 2u);
    held.release();
    world.settle();
    EXPECT_TRUE(second.granted());
    EXPECT_FALSE(rival.answered());
}

TEST_F(hand_over_inside, a_call_that_does_not_wait_is_told_who_is_in_the_way) {
    const hold held = mine.locks.acquire("job", {.label = "nightly"});
    call waiting(mine.locks, "job", {.label = "nightly"});
    world.advance(3s);
    const attempt got = mine.locks.try_acquire("job", {.label = "nightly"});
    EXPECT_EQ(got.reason(), errc::busy);
    ASSERT_TRUE(got.refusal().holder);
    EXPECT_EQ(got.refusal().holder->label, "nightly");
    EXPECT_EQ(got.refusal().holder->held_for, 3s);
    EXPECT_EQ(got.refusal().holder->token, held.token());
    EXPECT_EQ(got.refusal().place, 2u);
}

}  // namespace
}  // namespace mortise::testing
