// Who holds, who waits and for whom, read off a line of entries.
#include "base/line.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using is = line_verdict::verdict;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::uint32_t readers = 1U << 31U;
constexpr std::uint32_t upgradeable = (1U << 30U) + 1;

claim_id numbered(std::uint64_t n) {
    return {{n, 7}};
}

line_entry entry(std::uint64_t n, std::uint32_t capacity = 1, std::uint32_t weight = 1) {
    return {.id = numbered(n), .arrived = n, .written = n, .capacity = capacity, .weight = weight};
}
line_entry exchange(std::uint64_t n, std::uint64_t old, std::uint32_t capacity, std::uint32_t weight) {
    line_entry made = entry(n, capacity, weight);
    made.instead_of = numbered(old);
    return made;
}

void expect_same(const line_verdict& one, const line_verdict& other) {
    EXPECT_EQ(one.is, other.is);
    EXPECT_EQ(one.watch, other.watch);
    EXPECT_EQ(one.guards, other.guards);
    EXPECT_EQ(one.capacity, other.capacity);
    EXPECT_EQ(one.place, other.place);
    EXPECT_EQ(one.holder, other.holder);
}

struct line : std::vector<line_entry> {
    using vector::vector;
    line_verdict of(std::uint64_t n, std::uint64_t floor = 0) const {
        const line_verdict alone = judge(*this, numbered(n), floor);
        expect_same(judged_line{*this}.of(numbered(n)), alone);
        return alone;
    }
    void leave(std::uint64_t n) {
        std::erase_if(*this, [&](const line_entry& one) { return one.id == numbered(n); });
    }
};

TEST(line, the_first_holds_and_each_other_waits_for_the_one_before_it) {
    const line mutex{entry(5), entry(3), entry(9)};
    EXPECT_EQ(mutex.of(3).is, is::holds);
    EXPECT_FALSE(mutex.of(3).holder) << "nobody else";
    EXPECT_EQ(mutex.of(5).is, is::waits);
    EXPECT_EQ(mutex.of(5).holder, numbered(3));
    EXPECT_EQ(mutex.of(5).place, 1u);
    EXPECT_EQ(mutex.of(9).place, 2u);
    EXPECT_THAT(mutex.of(9).watch, ElementsAre(numbered(5)));
}

// Judged by a way of its own where all are exclusive; one reader behind them takes the other way, and changes nothing.
TEST(line, of_exclusive_claims_is_judged_as_any_other) {
    std::mt19937 random{17};
    for (int round = 0; round < 300; ++round) {
        line all;
        for (std::uint64_t n = 1; n <= 1 + random() % 6; ++n) all.push_back(entry(n, readers, readers));
        std::ranges::shuffle(all, random);
        for (line_entry& one : all) one.stamped = random() % 3 == 0;
        line with_a_reader = all;
        with_a_reader.push_back(entry(100, readers));
        const std::uint64_t floor = random() % 8;
        for (const line_entry& one : all) {
            const line_verdict mine = judge(all, one.id, floor);
            const line_verdict same = judge(with_a_reader, one.id, floor);
            expect_same(mine, same);
            EXPECT_EQ(mine.to_be_stamped, same.to_be_stamped);
        }
    }
}

TEST(line, one_that_is_not_in_it_is_absent) {
    EXPECT_EQ((line{entry(1)}.of(2).is), is::absent);
    EXPECT_EQ((line{}.of(2).is), is::absent);
}

TEST(line, readers_hold_together_and_wait_for_the_writer_before_them_only) {
    const line shared{entry(1, readers), entry(2, readers), entry(3, readers, readers), entry(4, readers),
                      entry(5, readers)};
    EXPECT_EQ(shared.of(2).is, is::holds);
    EXPECT_THAT(shared.of(3).watch, ElementsAre(numbered(2)));
    EXPECT_THAT(shared.of(5).watch, ElementsAre(numbered(3))) << "not for the reader between";
    EXPECT_EQ(shared.of(5).place, 3u);
}

TEST(line, tells_whether_all_hold) {
    EXPECT_TRUE(all_hold(line{}));
    EXPECT_TRUE(all_hold(line{entry(1)}));
    EXPECT_FALSE(all_hold(line{entry(1), entry(2)}));
    EXPECT_TRUE(all_hold(line{entry(1, readers), entry(2, readers)}));
    EXPECT_TRUE(all_hold(line{entry(1, readers), entry(2, readers, upgradeable)}));
    EXPECT_FALSE(all_hold(line{entry(1, readers), entry(2, readers, readers)}));
    EXPECT_FALSE(all_hold(line{entry(1, readers, readers), entry(2, readers, readers)})) << "more than 32 bits";
    EXPECT_FALSE(all_hold(line{entry(1, readers), entry(2, 4)})) << "of another kind";
    EXPECT_FALSE(all_hold(line{entry(1, 4), exchange(2, 1, 4, 2)})) << "waits, though it would fit";
}

TEST(line, permits_wait_for_as_many_as_can_make_room) {
    const line permits{entry(1, 3), entry(2, 3), entry(3, 3), entry(4, 3), entry(5, 3, 2)};
    EXPECT_EQ(permits.of(3).is, is::holds);
    EXPECT_THAT(permits.of(4).watch, UnorderedElementsAre(numbered(1), numbered(2), numbered(3)));
    EXPECT_THAT(permits.of(5).watch, UnorderedElementsAre(numbered(4), numbered(3)))
        << "while those two are there, two do not fit";
}

TEST(line, nobody_gets_in_past_a_big_claim) {
    const line permits{entry(1, 3, 2), entry(2, 3, 3), entry(3, 3, 1)};
    EXPECT_EQ(permits.of(2).is, is::waits);
    EXPECT_EQ(permits.of(3).is, is::waits) << "it would fit";
    EXPECT_THAT(permits.of(3).watch, ElementsAre(numbered(2)));
}

TEST(line, the_first_ones_capacity_is_right) {
    const line mixed{entry(1, 1), entry(2, 5), entry(3, 1)};
    EXPECT_EQ(mixed.of(2).is, is::other_kind);
    EXPECT_EQ(mixed.of(2).capacity, 1u);
    EXPECT_THAT(mixed.of(3).watch, ElementsAre(numbered(2))) << "until that one has withdrawn";
    const line left{entry(2, 5), entry(3, 1)};
    EXPECT_EQ(left.of(3).is, is::other_kind);
    EXPECT_THAT(left.of(3).watch, ElementsAre(numbered(2)));
}

TEST(line, an_upgrade_waits_for_the_others_that_hold_and_keeps_later_ones_out) {
    line shared{entry(1, readers, upgradeable),   entry(2, readers), entry(3, readers, readers), entry(4, readers),
                exchange(5, 1, readers, readers), entry(6, readers)};
    EXPECT_EQ(shared.of(5).is, is::waits);
    EXPECT_THAT(shared.of(5).watch, UnorderedElementsAre(numbered(2), numbered(1)));
    EXPECT_EQ(shared.of(5).holder, numbered(2));
    shared.leave(2);
    const auto may = shared.of(5);
    EXPECT_EQ(may.is, is::may_exchange);
    EXPECT_THAT(may.guards, UnorderedElementsAre(numbered(5), numbered(1), numbered(3)))
        << "were the writer to leave, the reader behind it would be granted";
}

TEST(line, one_kept_out_by_an_upgrade_looks_again_when_that_or_the_old_hold_goes) {
    const line shared{entry(1, readers, upgradeable), entry(2, readers), exchange(5, 1, readers, readers),
                      entry(6, readers)};
    EXPECT_EQ(shared.of(6).is, is::waits);
    EXPECT_THAT(shared.of(6).watch, UnorderedElementsAre(numbered(5), numbered(1)));
    EXPECT_EQ(shared.of(2).is, is::holds);
}

TEST(line, an_exchange_stands_where_the_old_hold_stood) {
    line shared{exchange(5, 1, readers, readers), entry(3, readers, readers), entry(4, readers)};
    shared[0].place = 1;
    shared[0].stamped = true;
    shared[0].written = 8;
    EXPECT_EQ(shared.of(5).is, is::holds);
    EXPECT_EQ(shared[0].counter(), 8u);
    EXPECT_EQ(shared.of(3, 8).is, is::waits);
    shared.leave(5);
    EXPECT_TRUE(shared.of(3, 8).to_be_stamped) << "its arrival is older than the grant before it";
    EXPECT_FALSE(shared.of(3, 0).to_be_stamped);
}

TEST(line, a_second_exchange_that_has_to_wait_would_wait_for_the_first) {
    const line permits{entry(1, 4, 2), entry(2, 4, 2), exchange(3, 1, 4, 3), exchange(4, 2, 4, 3),
                       exchange(5, 2, 4, 1)};
    EXPECT_EQ(permits.of(3).is, is::waits);
    EXPECT_EQ(permits.of(4).is, is::would_deadlock);
    EXPECT_EQ(permits.of(5).is, is::may_exchange) << "a lighter one need not wait";
    EXPECT_THAT(permits.of(5).guards, UnorderedElementsAre(numbered(5), numbered(3), numbered(1), numbered(2)));
}

TEST(line, an_exchange_for_a_hold_that_is_gone_is_lost) {
    const line shared{entry(2, readers), exchange(5, 1, readers, readers)};
    EXPECT_EQ(shared.of(5).is, is::lost);
}

TEST(line, an_exchange_for_a_hold_that_is_gone_is_in_nobodys_way) {
    line shared{entry(1, readers), exchange(2, 9, readers, readers), entry(3, readers, upgradeable),
                exchange(4, 3, readers, readers)};
    EXPECT_EQ(shared.of(3).is, is::holds);
    EXPECT_EQ(shared.of(4).is, is::waits) << "for the reader, not for what is lost";
    EXPECT_THAT(shared.of(4).watch, UnorderedElementsAre(numbered(1), numbered(3)));
    shared.leave(1);
    EXPECT_EQ(shared.of(4).is, is::may_exchange);
}

TEST(line_part, with_all_that_is_older_tells_what_the_whole_line_does) {
    const line mutex{entry(3), entry(5), entry(9)};
    const auto first = judge_part({.end = std::span(mutex).first(1), .missing_after = true}, numbered(3), 0);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->is, is::holds);
    const auto second = judge_part({.end = std::span(mutex).first(2), .missing_after = true}, numbered(5), 0);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->is, is::waits);
    EXPECT_EQ(second->place, 1u);
    EXPECT_EQ(second->holder, numbered(3));
}

TEST(line_part, of_the_end_tells_who_has_too_much_before_it) {
    const line end{entry(50), entry(51)};
    const auto told = judge_part({.end = end, .first = entry(3), .missing_before = true}, numbered(51), 0);
    ASSERT_TRUE(told);
    EXPECT_EQ(told->is, is::waits);
    EXPECT_THAT(told->watch, ElementsAre(numbered(50)));
    EXPECT_EQ(told->holder, numbered(3));
    EXPECT_EQ(told->place, 0u) << "who knows";
    const auto without_the_first = judge_part({.end = end, .missing_before = true}, numbered(51), 0);
    ASSERT_TRUE(without_the_first);
    EXPECT_FALSE(without_the_first->holder);
}

TEST(line_part, that_does_not_tell_is_not_believed) {
    const line readers_only{entry(50, readers), entry(51, readers)};
    EXPECT_FALSE(judge_part({.end = readers_only, .missing_before = true}, numbered(51), 0)) << "is there a writer?";
    const line mutex{entry(50), entry(51)};
    EXPECT_FALSE(judge_part({.end = mutex, .first = entry(3, 8), .missing_before = true}, numbered(51), 0))
        << "of another kind";
    EXPECT_FALSE(judge_part({.end = mutex, .missing_before = true}, numbered(52), 0)) << "it is not there";
    EXPECT_FALSE(judge_part({.end = std::span(mutex).first(1), .missing_after = true}, numbered(50), 60))
        << "somebody younger may stand before it";
    const line exchanging{entry(50, readers, readers), exchange(51, 50, readers, 1)};
    EXPECT_FALSE(judge_part({.end = exchanging, .missing_before = true}, numbered(51), 0));
}

}  // namespace
}  // namespace mortise::base
