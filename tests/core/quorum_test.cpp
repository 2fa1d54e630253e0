// A store of stores on simulated time.
#include "assembly.hpp"
#include "quorum_dice.hpp"
#include "support/seeds.hpp"

#include <mortise/error.hpp>
#include <mortise/spi/quorum.hpp>

#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class quorum : public ::testing::Test {
protected:
    assembly world;
    voter mine = world.join();
};

TEST_F(quorum, a_lock_is_held_on_all_nodes_and_released_on_all) {
    call got{mine.locks, "job"};
    world.settle();
    ASSERT_TRUE(got.granted());
    EXPECT_EQ(world.held_on("job"), 5u);
    voter other = world.join();
    EXPECT_EQ(other.locks.try_acquire("job").reason(), errc::busy);
    EXPECT_EQ(world.held_on("job"), 5u);
    EXPECT_EQ(got.hold().release(), release_result::released);
    EXPECT_EQ(world.held_on("job"), 0u);
    EXPECT_TRUE(other.locks.try_acquire("job"));
}

TEST_F(quorum, validity_counts_from_before_the_first_request) {
    for (const auto& net : mine.nets) net->delay(verb::claim, 100ms, 100ms);
    const auto start = world.sim().clock().now();
    call got{mine.locks, "job", {.lease = 10s}};
    world.advance(200ms);
    ASSERT_TRUE(got.granted());
    EXPECT_LE(got.hold().valid_until(), start + 10s - 100ms);
}

TEST_F(quorum, slow_nodes_add_nothing_if_a_majority_is_quick) {
    mine.nets[0]->delay(verb::claim, 10s);
    mine.nets[3]->delay(verb::claim, 10s);
    call got{mine.locks, "job"};
    world.settle();
    EXPECT_TRUE(got.granted());
    EXPECT_EQ(got.hold().release(), release_result::released);
    got.forget();
    world.advance(1min);
    EXPECT_EQ(world.held_on("job"), 0u) << "a late claim stayed";
}

TEST_F(quorum, a_slow_majority_costs_the_deadline_and_leaves_nothing) {
    for (const std::size_t slow : {1u, 2u, 3u}) mine.nets[slow]->delay(verb::claim, 900ms);
    call got{mine.locks, "job", {.wait = 0s, .lease = 10s}};
    world.advance(499ms);
    EXPECT_EQ(world.held_on("job"), 2u);
    world.advance(2ms);
    EXPECT_EQ(world.held_on("job"), 0u);
    world.advance(1min);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("node 2: no answer within 500 ms"));
    EXPECT_EQ(world.held_on("job"), 0u) << "a late claim stayed";
}

TEST_F(quorum, a_node_has_at_most_a_fifth_of_the_lease) {
    for (const auto& net : mine.nets) net->lose_requests(verb::claim, fault_plan::for_ever);
    call got{mine.locks, "job", {.wait = 0s, .lease = 1s}};
    world.advance(1min);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("no answer within 200 ms"));
}

TEST_F(quorum, a_grant_with_too_little_left_is_given_back) {
    voter demanding = world.join({.min_validity = 9800ms});
    for (const auto& net : demanding.nets) net->delay(verb::claim, 150ms, 150ms);
    call got{demanding.locks, "job", {.wait = 0s, .lease = 10s}};
    world.advance(1min);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("too little of the lease"));
    EXPECT_EQ(world.held_on("job"), 0u);
    for (const auto& net : demanding.nets) net->heal();
    EXPECT_TRUE(demanding.locks.try_acquire("job", {.lease = 10s}));
}

// What granted without our hearing of it is released too.
TEST_F(quorum, a_refused_attempt_is_released_also_where_no_answer_came) {
    std::vector<hold> theirs;
    for (const std::size_t node : {2u, 3u, 4u}) theirs.push_back(world.occupy(node, "job"));
    mine.nets[0]->lose_replies(verb::claim);  // the first are asked before it is known that others have it
    mine.nets[1]->fail_after(verb::claim);
    call got{mine.locks, "job", {.wait = 0s}};
    world.advance(1s);
    EXPECT_EQ(got.reason(), errc::busy);
    for (const std::size_t node : {0u, 1u}) EXPECT_GE(mine.nets[node]->arrived(verb::claim), 1u) << node;
    EXPECT_EQ(world.held_on("job"), 3u);
}

TEST_F(quorum, a_release_that_a_node_did_not_get_is_repeated) {
    call got{mine.locks, "job", {.lease = 1h}};
    world.settle();
    mine.nets[2]->fail(verb::release, 3);
    EXPECT_EQ(got.hold().release(), release_result::released);
    EXPECT_EQ(world.held_on("job"), 1u);
    world.advance(10s);
    EXPECT_EQ(world.held_on("job"), 0u);
}

TEST_F(quorum, renewals_need_a_majority) {
    call got{mine.locks, "job", {.lease = 9s}};
    world.settle();
    for (const std::size_t dead : {0u, 1u}) mine.nets[dead]->lose_requests(verb::renew, fault_plan::for_ever);
    world.advance(1min);
    EXPECT_TRUE(got.hold().valid());
    mine.nets[2]->fail(verb::renew, fault_plan::for_ever);
    world.advance(5s);
    EXPECT_TRUE(got.hold().valid()) << "unknown is not lost";
    world.advance(5s);
    EXPECT_FALSE(got.hold().valid());
}

TEST_F(quorum, a_node_that_was_away_is_given_the_lock_with_the_next_renewal) {
    mine.nets[0]->fail(verb::claim);
    call got{mine.locks, "job", {.lease = 9s}};
    world.settle();
    ASSERT_TRUE(got.granted());
    EXPECT_EQ(world.held_on("job"), 4u);
    world.advance(4s);
    EXPECT_EQ(world.held_on("job"), 5u);
    EXPECT_EQ(got.hold().release(), release_result::released);
    EXPECT_EQ(world.held_on("job"), 0u);
}

// The others are a majority before it answers.
TEST_F(quorum, a_slow_node_that_was_away_is_given_the_lock_too) {
    mine.nets[4]->fail(verb::claim);
    mine.nets[4]->delay(verb::renew, 100ms, 100ms);
    call got{mine.locks, "job", {.lease = 9s}};
    world.settle();
    ASSERT_TRUE(got.granted());
    EXPECT_EQ(world.held_on("job"), 4u);
    world.advance(4s);
    EXPECT_EQ(world.held_on("job"), 5u);
}

TEST_F(quorum, a_hold_that_a_majority_forgot_is_lost_though_others_have_it) {
    for (const std::size_t away : {0u, 1u}) mine.nets[away]->fail(verb::claim);
    call got{mine.locks, "job", {.lease = 1h}};
    world.settle();
    ASSERT_TRUE(got.granted());
    // Two say that they never had it, and one does not answer.
    mine.nets[2]->fail(verb::renew, fault_plan::for_ever);
    world.advance(25min);
    EXPECT_TRUE(got.hold().valid());
    world.advance(1h);
    EXPECT_FALSE(got.hold().valid());
}

TEST_F(quorum, a_young_node_abstains_until_it_has_settled) {
    for (auto& age : world.ages) *age = 1h;
    *world.ages[1] = 10s;
    *world.ages[4] = std::nullopt;
    const hold theirs = world.occupy(3, "job");
    voter careful = world.join({.settle = 1min});
    call got{careful.locks, "job", {.wait = 0s, .lease = 10s}};
    world.advance(1s);
    EXPECT_EQ(got.reason(), errc::busy) << "two of five are not enough";
    EXPECT_EQ(world.held_on("job"), 1u) << "a node that abstains keeps nothing either";
    world.advance(1min);
    const attempt again = careful.locks.try_acquire("job", {.lease = 10s});
    EXPECT_TRUE(again) << "it has settled";
}

TEST_F(quorum, the_longest_lease_is_the_time_to_settle) {
    voter careful = world.join({.settle = 20s});
    EXPECT_EQ(careful.locks.promises().longest_lease, 20s);
    EXPECT_EQ(careful.locks.promises().default_lease, 20s);
}

TEST(quorum_of, needs_a_node) {
    EXPECT_THROW(spi::quorum_of({}), error);
}

// ---- random histories

struct history {
    assembly world;
    std::deque<voter> clients;
    std::deque<call> calls;
    quorum_dice dice;

    explicit history(std::uint64_t seed) : dice(seed) {
        for (int i = 0; i < 3; ++i) clients.push_back(world.join());
    }

    std::optional<std::string> step() {
        voter& who = clients[dice.upto(2)];
        switch (dice.upto(3)) {
            case 0:
                calls.emplace_back(who.locks, "job", claim_options{.wait = dice.ms(4000), .lease = 1s});
                break;
            case 1:
                if (!calls.empty() && calls[dice.upto(calls.size() - 1)].granted()) calls.erase(calls.begin());
                break;
            case 2:
                dice.harm(*who.nets[dice.upto(node_count - 1)], {verb::claim, verb::renew, verb::release});
                break;
            default:
                world.advance(dice.ms(300));
                break;
        }
        world.settle();
        std::size_t valid = 0;
        for (call& one : calls) valid += one.granted() && one.hold().valid() ? 1 : 0;
        if (valid > 1) return std::to_string(valid) + " hold it";
        return {};
    }

    std::optional<std::string> run() {
        for (int n = 0; n < 120; ++n)
            if (const auto wrong = step()) return "step " + std::to_string(n) + ": " + *wrong;
        for (voter& who : clients)
            for (const auto& net : who.nets) net->heal();
        calls.clear();
        world.advance(1min);
        if (const std::size_t left = world.held_on("job")) return std::to_string(left) + " nodes keep it for nobody";
        if (!clients[0].locks.try_acquire("job")) return "it is not to be had";
        return {};
    }
};

TEST(quorum_histories, never_have_two_holders_and_leave_nothing_behind) {
    EXPECT_EQ(first_complaint(300, [](std::uint64_t seed) { return history{seed}.run(); }), std::nullopt);
}

}  // namespace
}  // namespace mortise::testing
