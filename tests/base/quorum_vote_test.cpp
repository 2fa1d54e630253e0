#include "base/quorum_vote.hpp"

#include "checker/sim/sim_clock.hpp"

#include <chrono>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;
using result = quorum_vote::result;
using enum spi::release_answer;

constexpr spi::time_point start = testing::sim_clock::default_start;

quorum_vote::rules five(spi::duration lease = 10s) {
    return {.nodes = 5, .lease = lease, .node_timeout = 500ms};
}

// With what remains after every node was given its answer at its time.
result all_say(quorum_vote& vote, const std::vector<ballot>& said, spi::time_point at) {
    for (std::size_t i = 0; i < said.size(); ++i) vote.cast(i, said[i], at);
    return vote.is();
}

TEST(quorum_vote, the_figures_of_the_document) {
    quorum_vote seconds{{.nodes = 5, .lease = 5s, .node_timeout = 1s}, start};
    EXPECT_EQ(seconds.validity(start + 2s), 3s);
    EXPECT_EQ(all_say(seconds, std::vector(5, ballot::granted), start + 2s), result::granted);

    quorum_vote minutes{{.nodes = 5, .lease = 5min, .node_timeout = 1min, .margin = 1min}, start};
    EXPECT_EQ(minutes.validity(start + 2min), 2min);
    EXPECT_EQ(all_say(minutes, std::vector(5, ballot::granted), start + 2min), result::granted);

    quorum_vote drifting{{.nodes = 5, .lease = 10s, .node_timeout = 1s, .drift = 0.01, .margin = 2ms}, start};
    EXPECT_EQ(drifting.validity(start + 1s), 10s - 1s - 100ms - 2ms);
}

TEST(quorum_vote, granted_by_all_but_after_the_lease_is_refused) {
    for (const spi::duration elapsed : {5s, 6s, 500s}) {
        quorum_vote vote{{.nodes = 5, .lease = 5s, .node_timeout = 1s}, start};
        EXPECT_EQ(all_say(vote, std::vector(5, ballot::granted), start + elapsed), result::too_late);
        for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(vote.may_be_at(i)) << i;
    }
}

TEST(quorum_vote, less_than_the_least_validity_is_refused) {
    quorum_vote::rules rules = five();
    rules.min_validity = 9s;
    quorum_vote in_time{rules, start};
    EXPECT_EQ(all_say(in_time, std::vector(5, ballot::granted), start + 1s), result::granted);
    quorum_vote late{rules, start};
    EXPECT_EQ(all_say(late, std::vector(5, ballot::granted), start + 1s + 1ns), result::too_late);
}

TEST(quorum_vote, a_node_has_at_most_a_fifth_of_the_lease) {
    EXPECT_EQ((quorum_vote{five(10s), start}.deadline()), start + 500ms);
    EXPECT_EQ((quorum_vote{five(1s), start}.deadline()), start + 200ms);
}

TEST(quorum_vote, is_decided_by_the_majority_without_the_rest) {
    quorum_vote yes{five(), start};
    EXPECT_EQ(yes.cast(4, ballot::granted, start), result::open);
    EXPECT_EQ(yes.cast(0, ballot::granted, start), result::open);
    EXPECT_EQ(yes.cast(2, ballot::granted, start), result::granted);
    EXPECT_EQ(yes.poll(start + 1h), result::granted);
    EXPECT_TRUE(yes.may_be_at(1));

    quorum_vote no{five(), start};
    no.cast(0, ballot::granted, start);
    no.cast(1, ballot::busy, start);
    no.cast(2, ballot::busy, start);
    EXPECT_EQ(no.is(), result::open);
    EXPECT_EQ(no.cast(3, ballot::busy, start), result::busy);
    EXPECT_TRUE(no.may_be_at(0)) << "it granted";
    EXPECT_FALSE(no.may_be_at(1)) << "it is another's";
    EXPECT_TRUE(no.may_be_at(4)) << "it may yet grant";
}

TEST(quorum_vote, of_an_even_number_half_is_not_enough) {
    for (const std::size_t nodes : {2u, 4u, 6u}) {
        quorum_vote vote{{.nodes = nodes, .lease = 10s, .node_timeout = 1s}, start};
        for (std::size_t i = 0; i < nodes; ++i) vote.cast(i, i % 2 == 0 ? ballot::granted : ballot::busy, start);
        EXPECT_EQ(vote.is(), result::busy) << nodes;
    }
}

TEST(quorum_vote, silence_is_failure_at_the_deadline_and_not_before) {
    quorum_vote vote{five(), start};
    vote.cast(0, ballot::granted, start);
    vote.cast(1, ballot::granted, start);
    vote.cast(2, ballot::unreached, start);
    EXPECT_EQ(vote.poll(start + 500ms - 1ns), result::open);
    EXPECT_EQ(vote.poll(start + 500ms), result::failed);
    EXPECT_FALSE(vote.may_be_at(2)) << "it was not asked";
    EXPECT_TRUE(vote.may_be_at(3)) << "it may have granted";
}

TEST(quorum_vote, an_abstention_is_no_grant) {
    quorum_vote vote{five(), start};
    EXPECT_EQ(
        all_say(vote, {ballot::granted, ballot::abstained, ballot::granted, ballot::busy, ballot::abstained}, start),
        result::busy);
    EXPECT_TRUE(vote.may_be_at(1));
}

// A vote with these answers so far, some still to come: naively, by trying all that may come.
result naive(const std::vector<ballot>& said, bool in_time) {
    const auto count = [&](ballot which) {
        return static_cast<std::size_t>(std::count(said.begin(), said.end(), which));
    };
    const std::size_t open = count(ballot::none);
    std::size_t grants_in = 0;
    for (std::size_t more = 0; more <= open; ++more)
        if (2 * (count(ballot::granted) + more) > said.size()) ++grants_in;
    if (2 * count(ballot::granted) > said.size()) return in_time ? result::granted : result::too_late;
    if (grants_in > 0) return result::open;
    if (2 * (said.size() - count(ballot::refused) - count(ballot::abstained) - count(ballot::unreached) -
             count(ballot::failed)) >
        said.size())
        return result::busy;
    return 2 * (said.size() - count(ballot::refused)) <= said.size() ? result::refused : result::failed;
}

// All sequences of answers of up to six nodes, in an order drawn by lot.
TEST(quorum_vote, agrees_with_a_naive_model_on_every_outcome) {
    std::mt19937 dice{7};
    constexpr std::size_t kinds = 7;
    for (std::size_t nodes = 1; nodes <= 6; ++nodes) {
        std::size_t all = 1;
        for (std::size_t i = 0; i < nodes; ++i) all *= kinds;
        for (std::size_t code = 0; code < all; ++code) {
            std::vector<ballot> final(nodes);
            for (std::size_t i = 0, left = code; i < nodes; ++i, left /= kinds)
                final[i] = static_cast<ballot>(left % kinds);
            std::vector<std::size_t> order(nodes);
            for (std::size_t i = 0; i < nodes; ++i) order[i] = i;
            std::shuffle(order.begin(), order.end(), dice);
            const bool in_time = dice() % 4 != 0;
            const spi::time_point now = start + (in_time ? 100ms : 10s);
            quorum_vote vote{{.nodes = nodes, .lease = 10s, .node_timeout = 500ms}, start};
            std::vector<ballot> said(nodes, ballot::none);
            for (const std::size_t i : order) {
                if (vote.is() != result::open || final[i] == ballot::none) continue;
                said[i] = final[i];
                ASSERT_EQ(vote.cast(i, final[i], now), naive(said, in_time)) << nodes << " " << code;
            }
            if (vote.is() == result::open) {
                std::replace(said.begin(), said.end(), ballot::none, ballot::failed);
                ASSERT_EQ(vote.poll(start + 500ms), naive(said, true)) << nodes << " " << code;
                ASSERT_NE(vote.is(), result::open);
            }
            for (std::size_t i = 0; i < nodes; ++i) {
                ASSERT_EQ(vote.of(i), said[i]);
                ASSERT_EQ(vote.may_be_at(i),
                          said[i] != ballot::busy && said[i] != ballot::refused && said[i] != ballot::unreached);
            }
        }
    }
}

// Each node grants one of the two; whatever it is, and whoever hears what, not both have a majority.
TEST(quorum_vote, two_never_both_have_a_majority) {
    for (std::size_t nodes = 1; nodes <= 8; ++nodes)
        for (unsigned first = 0; first < 1u << nodes; ++first)
            for (unsigned heard = 0; heard < 1u << nodes; ++heard) {
                quorum_vote a{{.nodes = nodes, .lease = 10s, .node_timeout = 500ms}, start};
                quorum_vote b = a;
                for (std::size_t i = 0; i < nodes; ++i) {
                    const bool mine = (first >> i & 1) != 0;
                    if ((heard >> i & 1) == 0) continue;
                    a.cast(i, mine ? ballot::granted : ballot::busy, start);
                    b.cast(i, mine ? ballot::busy : ballot::granted, start);
                }
                a.poll(start + 500ms);
                b.poll(start + 500ms);
                ASSERT_FALSE(a.is() == result::granted && b.is() == result::granted);
            }
}

TEST(quorum_vote, a_majority_is_free_when_enough_nodes_are) {
    EXPECT_EQ(free_in_a_majority({0s, 5s, 1s, 3s, 9s}), 3s);
    EXPECT_EQ(free_in_a_majority({0s, std::nullopt, 1s, std::nullopt, 9s}), 9s);
    EXPECT_EQ(free_in_a_majority({0s, std::nullopt, std::nullopt, std::nullopt, 9s}), std::nullopt);
    EXPECT_EQ(free_in_a_majority({1s, 2s, 3s, 4s}), 3s);
}

TEST(quorum_vote, renewals_and_releases_count_likewise) {
    using enum spi::renewal_answer;
    EXPECT_EQ(renewed_by(5, 3, 2), renewed);
    EXPECT_EQ(renewed_by(5, 2, 2), spi::renewal_answer::unknown);
    EXPECT_EQ(renewed_by(5, 2, 3), lost);
    EXPECT_EQ(renewed_by(4, 2, 2), lost);
    EXPECT_EQ(renewed_by(4, 2, 1), spi::renewal_answer::unknown);

    EXPECT_EQ(released_by({released, released, released, expired, spi::release_answer::unknown}), released);
    EXPECT_EQ(released_by({released, released, spi::release_answer::unknown, expired, expired}),
              spi::release_answer::unknown);
    EXPECT_EQ(released_by({released, released, expired, taken_over, taken_over}), expired);
    EXPECT_EQ(released_by({taken_over, taken_over, taken_over, expired, spi::release_answer::unknown}), taken_over);
}

}  // namespace
}  // namespace mortise::base
