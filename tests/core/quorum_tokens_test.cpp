// Tokens of a store of stores, on simulated time. The clocks of the nodes are hours apart, so that their counters order nothing.
#include "assembly.hpp"
#include "quorum_dice.hpp"
#include "support/seeds.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class quorum_tokens : public ::testing::Test {
protected:
    voter join() { return world.join({.fenced = true}); }

    // Its token; none if it is not to be had.
    static std::uint64_t token_of_one(client& locks) {
        attempt got = locks.try_acquire("job", {.lease = 1s});
        return got ? got->token().counter() : 0;
    }

    assembly world{{5h, 0h, 3h, 1h, 2h}};
    voter mine = join();
};

TEST_F(quorum_tokens, rise_from_client_to_client) {
    EXPECT_TRUE(mine.locks.promises().tokens);
    voter other = join();
    std::uint64_t latest = 0;
    for (int n = 0; n < 20; ++n)
        for (voter* one : {&mine, &other}) {
            const std::uint64_t now = token_of_one(one->locks);
            EXPECT_GT(now, latest);
            latest = now;
        }
}

TEST_F(quorum_tokens, begin_when_all_nodes_have_answered_once) {
    mine.nets[3]->lose_requests(verb::raise, fault_plan::for_ever);
    call got{mine.locks, "job", {.wait = 0s, .lease = 10s}};
    world.advance(1min);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("before the first claim all 5 nodes must answer once"));
    EXPECT_EQ(world.held_on("job"), 0u);
    mine.nets[3]->heal();
    world.advance(2s);
    EXPECT_NE(token_of_one(mine.locks), 0u);
    for (const std::size_t dead : {0u, 3u}) mine.nets[dead]->freeze();
    EXPECT_NE(token_of_one(mine.locks), 0u) << "later a majority suffices";
    for (const std::size_t dead : {0u, 3u}) mine.nets[dead]->thaw();
}

// The node that gave the largest counter forgets it, and the two others that agreed are away.
TEST_F(quorum_tokens, a_node_that_forgot_does_not_vote_until_a_majority_has_told_it) {
    ASSERT_NE(token_of_one(mine.locks), 0u);
    world.advance(5s);
    for (const std::size_t away : {3u, 4u}) mine.nets[away]->fail(verb::claim);
    const std::uint64_t before = token_of_one(mine.locks);
    ASSERT_NE(before, 0u);
    world.advance(5s);
    world.restart(0);
    voter other = join();
    for (const std::size_t away : {1u, 2u})
        for (const verb v : {verb::claim, verb::raise}) other.nets[away]->fail(v, fault_plan::for_ever);
    call got{other.locks, "job", {.wait = 0s, .lease = 10s}};
    world.advance(1min);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("node 0: has forgotten its tokens"));
    EXPECT_FALSE(world.remembers_its_tokens(0));
    other.nets[1]->heal();
    world.advance(2s);
    const std::uint64_t after = token_of_one(other.locks);
    EXPECT_GT(after, before);
    world.advance(2s);
    static_cast<void>(token_of_one(other.locks));
    EXPECT_TRUE(world.remembers_its_tokens(0));
}

TEST_F(quorum_tokens, a_hold_outlives_restarts_of_all_nodes_and_what_follows_is_larger) {
    call got{mine.locks, "job", {.lease = 9s}};
    world.settle();
    ASSERT_TRUE(got.granted());
    const std::uint64_t before = got.hold().token().counter();
    for (std::size_t i = 0; i < node_count; ++i) {
        world.restart(i);
        world.advance(10s);
        EXPECT_TRUE(world.remembers_its_tokens(i)) << i << " was not told, though its hold was given back";
    }
    EXPECT_TRUE(got.hold().valid());
    EXPECT_EQ(got.hold().release(), release_result::released);
    EXPECT_GT(token_of_one(mine.locks), before);
}

TEST_F(quorum_tokens, a_raise_that_a_minority_did_not_answer_costs_nothing) {
    static_cast<void>(token_of_one(mine.locks));
    world.settle();
    mine.nets[0]->lose_replies(verb::raise);
    mine.nets[4]->lose_requests(verb::raise);
    call got{mine.locks, "job"};
    world.settle();
    EXPECT_TRUE(got.granted());
}

TEST_F(quorum_tokens, an_attempt_without_a_token_leaves_nothing_behind) {
    static_cast<void>(token_of_one(mine.locks));
    for (const std::size_t deaf : {0u, 1u, 2u}) mine.nets[deaf]->lose_requests(verb::raise, fault_plan::for_ever);
    call got{mine.locks, "job", {.wait = 0s, .lease = 10s}};
    world.advance(1min);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_THAT(got.refusal().describe(), HasSubstr("3 of 5 nodes must agree on its token"));
    EXPECT_EQ(world.held_on("job"), 0u);
}

// ---- random histories

// A restart may let two holders in. The token of a hand-over within a process is older then than that of the other.
client_options one_by_one() {
    client_options options = fleet::quick();
    options.hand_over_turns = 0;
    return options;
}

struct token_history {
    assembly world{{5h, 0h, 3h, 1h, 2h}};
    std::deque<voter> clients;
    struct asked {
        call wanted;
        std::uint64_t at_least;  // tokens given before it began
        bool counted = false;
    };
    std::deque<asked> calls;
    quorum_dice dice;
    std::set<std::uint64_t> given;
    std::size_t restarts = 0;

    explicit token_history(std::uint64_t seed) : dice(seed) {
        for (int i = 0; i < 3; ++i) clients.push_back(world.join({.fenced = true}, one_by_one()));
    }

    std::uint64_t latest() const { return given.empty() ? 0 : *given.rbegin(); }

    // A majority remembers at all times.
    void forget_one() {
        std::size_t whole = 0;
        for (std::size_t i = 0; i < node_count; ++i) whole += world.remembers_its_tokens(i) ? 1 : 0;
        if (whole < 4) return;
        world.restart(dice.upto(node_count - 1), std::chrono::hours{dice.upto(5)});
        ++restarts;
    }

    std::optional<std::string> step() {
        voter& who = clients[dice.upto(2)];
        switch (dice.upto(9)) {
            case 0:
            case 1:
            case 2:
                calls.push_back({call{who.locks, "job", claim_options{.wait = dice.ms(4000), .lease = 1s}}, latest()});
                break;
            case 3:
            case 4:
                if (!calls.empty() && calls.front().wanted.answered()) calls.pop_front();
                break;
            case 5:
            case 6:
                dice.harm(*who.nets[dice.upto(node_count - 1)],
                          {verb::claim, verb::renew, verb::release, verb::raise, verb::raise});
                break;
            case 7:
                forget_one();
                break;
            default:
                world.advance(dice.ms(300));
                break;
        }
        world.settle();
        for (asked& one : calls) {
            if (!one.wanted.granted() || std::exchange(one.counted, true)) continue;
            const std::uint64_t token = one.wanted.hold().token().value();
            if (token <= one.at_least)
                return "token " + std::to_string(token) + " after " + std::to_string(one.at_least);
            if (!given.insert(token).second) return "token " + std::to_string(token) + " twice";
        }
        return {};
    }

    std::optional<std::string> run() {
        for (int n = 0; n < 150; ++n)
            if (const auto wrong = step()) return "step " + std::to_string(n) + ": " + *wrong;
        for (voter& who : clients)
            for (const auto& net : who.nets) net->heal();
        calls.clear();
        world.advance(1min);
        if (const std::size_t left = world.held_on("job")) return std::to_string(left) + " nodes keep it for nobody";
        call last{clients[0].locks, "job", {.wait = 20s}};
        world.advance(20s);
        if (!last.granted()) return "it is not to be had";
        return {};
    }
};

TEST(quorum_token_histories, never_give_a_token_twice_or_a_smaller_one) {
    std::size_t restarts = 0;
    std::size_t grants = 0;
    EXPECT_EQ(first_complaint(100,
                              [&](std::uint64_t seed) {
                                  token_history one{seed};
                                  const auto wrong = one.run();
                                  restarts += one.restarts;
                                  grants += one.given.size();
                                  return wrong;
                              }),
              std::nullopt);
    if (lone_seed()) return;
    EXPECT_GT(restarts, 100u);
    EXPECT_GT(grants, 250u);
}

}  // namespace
}  // namespace mortise::testing
