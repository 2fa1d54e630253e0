#include "base/token_vote.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::base::token_vote_tests {
namespace {

using result = token_vote::result;
using enum spi::raise_answer::verdict;

std::optional<spi::token_memory> whole(std::uint64_t floor = 0, std::uint64_t highest = 0) {
    return spi::token_memory{.version = {{1, floor}}, .whole = true, .floor = floor, .highest = highest};
}
std::optional<spi::token_memory> forgetful() {
    return spi::token_memory{.version = {{2, 2}}};
}

token_vote five(std::uint64_t floor = 0) {
    return token_vote{token_vote::memories(5, whole(floor))};
}

std::vector<std::size_t> nodes_of(const std::vector<token_vote::order>& orders) {
    std::vector<std::size_t> all;
    for (const auto& one : orders) all.push_back(one.node);
    return all;
}

TEST(token_vote, proposes_more_than_all_counters_and_needs_a_majority) {
    token_vote vote = five();
    vote.granted(0, 7);
    vote.granted(2, 9);
    vote.granted(4, 3);
    const auto orders = vote.next();
    EXPECT_EQ(nodes_of(orders), (std::vector<std::size_t>{0, 2, 4}));
    for (const auto& one : orders) {
        EXPECT_EQ(one.to, 10u);
        EXPECT_EQ(one.version, whole()->version);
    }
    EXPECT_TRUE(vote.next().empty()) << "asked twice";
    EXPECT_EQ(vote.answered(orders[0], {.is = raised}), result::open);
    EXPECT_EQ(vote.answered(orders[0], {.is = raised}), result::open) << "one node is no majority";
    EXPECT_EQ(vote.answered(orders[1], {.is = raised}), result::open);
    EXPECT_EQ(vote.answered(orders[2], {.is = raised}), result::agreed);
    EXPECT_EQ(vote.token(), 10u);
}

TEST(token_vote, what_nodes_were_told_counts_like_a_counter) {
    token_vote vote = five(20);
    for (const std::size_t node : {0u, 1u, 2u}) vote.granted(node, node);
    EXPECT_EQ(vote.next().front().to, 21u);
}

TEST(token_vote, late_grants_help) {
    token_vote vote = five();
    for (const std::size_t node : {0u, 1u, 2u}) vote.granted(node, 1);
    const auto orders = vote.next();
    vote.answered(orders[0], {.is = raised});
    vote.answered(orders[1], {.is = raised});
    EXPECT_EQ(vote.answered(orders[2], {.is = forgot}), result::open);
    vote.not_granted(3);
    vote.granted(4, 1);
    const auto more = vote.next();
    ASSERT_EQ(nodes_of(more), (std::vector<std::size_t>{4}));
    EXPECT_EQ(vote.answered(more[0], {.is = raised}), result::agreed);
}

TEST(token_vote, fails_when_no_majority_is_left) {
    token_vote vote = five();
    for (const std::size_t node : {0u, 1u, 2u}) vote.granted(node, 1);
    const auto orders = vote.next();
    vote.answered(orders[0], {.is = lost});
    vote.not_granted(3);
    EXPECT_EQ(vote.is(), result::open);
    vote.not_granted(4);
    EXPECT_EQ(vote.is(), result::failed);
    EXPECT_EQ(vote.answered(orders[1], {.is = raised}), result::failed);
}

TEST(token_vote, nodes_with_larger_tokens_are_asked_again_with_more) {
    token_vote vote = five();
    for (const std::size_t node : {0u, 1u, 2u}) vote.granted(node, 1);
    vote.not_granted(3);
    vote.not_granted(4);
    const auto first = vote.next();
    vote.answered(first[0], {.is = raised});
    EXPECT_EQ(vote.answered(first[1], {.is = not_larger, .largest = 40}), result::open);
    const auto second = vote.next();
    ASSERT_EQ(second.size(), 3u);
    EXPECT_EQ(second[0].to, 41u);
    EXPECT_EQ(vote.answered(first[2], {.is = raised}), result::open) << "an answer to the first proposal";
    for (const auto& one : second) vote.answered(one, {.is = raised});
    EXPECT_EQ(vote.is(), result::agreed);
    EXPECT_EQ(vote.token(), 41u);
}

TEST(token_vote, who_has_forgotten_is_not_asked) {
    token_vote vote{{whole(), forgetful(), std::nullopt, whole(), whole()}};
    for (std::size_t node = 0; node < 5; ++node) vote.granted(node, node);
    EXPECT_EQ(nodes_of(vote.next()), (std::vector<std::size_t>{0, 3, 4}));

    token_vote too_few{{whole(), forgetful(), forgetful(), std::nullopt, whole()}};
    for (std::size_t node = 0; node < 5; ++node) too_few.granted(node, node);
    EXPECT_TRUE(too_few.next().empty());
    EXPECT_EQ(too_few.is(), result::failed);
}

using memories = token_vote::memories;

TEST(floor_of_forgotten, is_the_highest_of_a_majority_that_remembers) {
    EXPECT_EQ(floor_of_forgotten(memories{whole(0, 5), whole(8, 8), whole(0, 0), forgetful(), std::nullopt}), 8u);
    EXPECT_EQ(floor_of_forgotten(memories{whole(0, 5), whole(8, 8), forgetful(), forgetful(), forgetful()}),
              std::nullopt);
    EXPECT_EQ(floor_of_forgotten(memories{whole(0, 5), whole(8, 8), std::nullopt, std::nullopt, forgetful()}),
              std::nullopt);
}

TEST(floor_of_forgotten, is_zero_before_the_first_token_if_all_nodes_say_so) {
    EXPECT_EQ(floor_of_forgotten(memories(3, forgetful())), 0u);
    EXPECT_EQ(floor_of_forgotten(memories{whole(), forgetful(), forgetful()}), 0u) << "whoever began did not finish";
    EXPECT_EQ(floor_of_forgotten(memories{std::nullopt, forgetful(), forgetful()}), std::nullopt);
    EXPECT_EQ(floor_of_forgotten(memories{whole(0, 1), forgetful(), forgetful()}), std::nullopt);
}

}  // namespace
}  // namespace mortise::base::token_vote_tests
