// The lease machine alone: no clock, no thread, no store.
#include "core/lease.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using core::lease;
using answer = spi::renewal_answer;
using state = core::lease::state;

constexpr spi::time_point start{1000s};
constexpr lease::terms usual{.life = 30s, .renewed = true, .margin = 300ms};

TEST(lease_machine, counts_from_before_the_request_and_stops_a_margin_early) {
    const lease one(usual, start);
    EXPECT_EQ(one.now_is(), state::held);
    EXPECT_EQ(one.deadline(), start + 30s - 300ms);
    EXPECT_EQ(one.due(), start + 10s);
    EXPECT_EQ(one.life(), 30s);
}

TEST(lease_machine, that_has_no_time_is_over_at_once_and_not_without_end) {
    for (const spi::duration none : {spi::duration::zero(), spi::duration{-5s}}) {
        lease one({.life = none, .renewed = true, .margin = 300ms, .grace = none}, start);
        EXPECT_TRUE(one.life().has_value());
        EXPECT_TRUE(one.poll(start + 1ms).lost);
    }
    const lease short_at_first({.life = 30s, .renewed = true, .margin = 300ms, .grace = -1s}, start);
    EXPECT_LE(short_at_first.deadline(), start);
}

TEST(lease_machine, has_nothing_to_say_before_a_third_of_its_life) {
    lease one(usual, start);
    const auto early = one.poll(start + 10s - 1ns);
    EXPECT_FALSE(early.renew || early.at_risk || early.lost);
    EXPECT_TRUE(one.poll(start + 10s).renew);
}

TEST(lease_machine, renewed_starts_anew_from_when_it_was_sent) {
    lease one(usual, start);
    ASSERT_TRUE(one.poll(start + 10s).renew);
    const auto step = one.answered(answer::renewed, start + 10s, start + 12s);
    EXPECT_FALSE(step.renew || step.at_risk || step.lost);
    EXPECT_EQ(one.counted_from(), start + 10s);
    EXPECT_EQ(one.deadline(), start + 40s - 300ms);
    EXPECT_EQ(one.due(), start + 20s);
}

TEST(lease_machine, lost_ends_it) {
    lease one(usual, start);
    one.poll(start + 10s);
    EXPECT_TRUE(one.answered(answer::lost, start + 10s, start + 11s).lost);
    EXPECT_EQ(one.now_is(), state::lost);
    EXPECT_EQ(one.due(), spi::time_point::max());
}

TEST(lease_machine, unknown_neither_extends_nor_ends_and_is_tried_again_fast) {
    lease one(usual, start);
    one.poll(start + 10s);
    const auto step = one.answered(answer::unknown, start + 10s, start + 11s);
    EXPECT_TRUE(step.at_risk);
    EXPECT_FALSE(step.lost);
    EXPECT_EQ(one.now_is(), state::at_risk);
    EXPECT_EQ(one.deadline(), start + 30s - 300ms);
    EXPECT_EQ(one.due(), start + 13s);
}

TEST(lease_machine, silence_is_unknown_once_it_is_time_to_try_again) {
    lease one(usual, start);
    EXPECT_FALSE(one.poll(start + 10s).at_risk);
    const auto step = one.poll(start + 13s);
    EXPECT_TRUE(step.renew);
    EXPECT_TRUE(step.at_risk);
    EXPECT_FALSE(one.poll(start + 16s).at_risk);  // said once
}

TEST(lease_machine, five_failures_then_success_is_held) {
    lease one(usual, start);
    spi::time_point now = start + 10s;
    int at_risk = 0;
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(one.poll(now).renew);
        at_risk += one.answered(answer::unknown, now, now + 1s).at_risk ? 1 : 0;
        now = one.due();
    }
    EXPECT_EQ(at_risk, 1);
    EXPECT_EQ(now, start + 25s);
    ASSERT_TRUE(one.poll(now).renew);
    one.answered(answer::renewed, now, now + 1s);
    EXPECT_EQ(one.now_is(), state::held);
    EXPECT_EQ(one.deadline(), now + 30s - 300ms);
    EXPECT_EQ(one.due(), now + 10s);
}

TEST(lease_machine, is_lost_at_its_deadline_and_says_so_once) {
    lease one(usual, start);
    const auto deadline = one.deadline();
    one.poll(start + 10s);
    EXPECT_FALSE(one.poll(deadline - 1ns).lost);
    EXPECT_TRUE(one.poll(deadline).lost);
    EXPECT_FALSE(one.poll(deadline).lost);
}

TEST(lease_machine, lost_stays_lost) {
    lease one(usual, start);
    one.poll(start + 10s);
    one.poll(start + 30s);
    ASSERT_EQ(one.now_is(), state::lost);
    const auto step = one.answered(answer::renewed, start + 10s, start + 31s);
    EXPECT_FALSE(step.renew || step.at_risk || step.lost);
    EXPECT_EQ(one.now_is(), state::lost);
    EXPECT_FALSE(one.ask_early(start + 31s));
    EXPECT_FALSE(one.revoked().lost);
    EXPECT_FALSE(one.poll(start + 1h).renew);
}

TEST(lease_machine, a_reply_that_took_longer_than_the_lease_is_a_loss) {
    lease one(usual, start);
    one.poll(start + 10s);
    EXPECT_TRUE(one.answered(answer::renewed, start + 10s, start + 40s).lost);
    lease two(usual, start);
    two.poll(start + 10s);
    EXPECT_TRUE(two.answered(answer::unknown, start + 10s, start + 30s).lost);
}

TEST(lease_machine, a_reply_after_the_old_deadline_but_within_the_new_is_in_time) {
    lease one(usual, start);
    one.poll(start + 10s);
    EXPECT_FALSE(one.answered(answer::renewed, start + 10s, start + 35s).lost);
    EXPECT_EQ(one.now_is(), state::held);
}

TEST(lease_machine, an_older_reply_does_not_turn_the_clock_back) {
    lease one(usual, start);
    one.poll(start + 10s);
    one.poll(start + 13s);
    one.answered(answer::renewed, start + 13s, start + 14s);
    one.answered(answer::renewed, start + 10s, start + 15s);
    EXPECT_EQ(one.deadline(), start + 43s - 300ms);
    EXPECT_EQ(one.due(), start + 23s);
}

TEST(lease_machine, an_early_renewal_is_asked_once_and_moves_the_next) {
    lease one(usual, start);
    EXPECT_TRUE(one.ask_early(start + 2s));
    EXPECT_FALSE(one.ask_early(start + 2s));
    one.answered(answer::renewed, start + 2s, start + 3s);
    EXPECT_EQ(one.due(), start + 12s);
    EXPECT_TRUE(one.ask_early(start + 3s));
    EXPECT_EQ(one.due(), start + 6s);  // tried again if nobody answers
}

TEST(lease_machine, renewal_off_only_ends) {
    lease one({.life = 30s, .renewed = false, .margin = 300ms}, start);
    EXPECT_EQ(one.due(), one.deadline());
    EXPECT_FALSE(one.ask_early(start + 1s));
    EXPECT_FALSE(one.poll(start + 20s).renew);
    EXPECT_TRUE(one.poll(one.deadline()).lost);
}

TEST(lease_machine, a_fixed_lease_starts_anew_if_its_owner_asks) {
    lease one({.life = 30s, .renewed = false, .margin = 300ms}, start);
    EXPECT_TRUE(one.restart(start + 1s));
    EXPECT_TRUE(one.restart(start + 2s)) << "once each";
    one.answered(answer::renewed, start + 2s, start + 3s);
    EXPECT_EQ(one.deadline(), start + 32s - 300ms);
    EXPECT_EQ(one.due(), one.deadline()) << "nobody else renews it";
    EXPECT_FALSE(one.answered(answer::unknown, start + 4s, start + 5s).at_risk) << "it ends when it would have";
    EXPECT_EQ(one.deadline(), start + 32s - 300ms);
    EXPECT_FALSE(one.restart(one.deadline())) << "too late";
    EXPECT_TRUE(one.poll(one.deadline()).lost);
    EXPECT_FALSE(one.restart(start + 3s));
}

TEST(lease_machine, without_a_lease_it_ends_only_when_told) {
    lease one({.life = std::nullopt, .renewed = true, .margin = 300ms}, start);
    EXPECT_EQ(one.deadline(), spi::time_point::max());
    EXPECT_EQ(one.due(), spi::time_point::max());
    EXPECT_EQ(one.life(), std::nullopt);
    EXPECT_FALSE(one.ask_early(start + 1s));
    EXPECT_FALSE(one.restart(start + 1s));
    const auto step = one.poll(start + 24h);
    EXPECT_FALSE(step.renew || step.lost);
    EXPECT_TRUE(one.revoked().lost);
    EXPECT_EQ(one.now_is(), state::lost);
}

TEST(lease_machine, a_margin_larger_than_the_life_leaves_nothing) {
    lease one({.life = 1s, .renewed = true, .margin = 5s}, start);
    EXPECT_EQ(one.deadline(), start);
    EXPECT_TRUE(one.poll(start).lost);
}

// Whatever happens in whatever order, the holder is never promised more than the store granted.
TEST(lease_machine, random_walks_never_promise_too_much_nor_take_back) {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 dice(seed);
        const auto roll = [&](int n) { return static_cast<int>(dice() % static_cast<unsigned>(n)); };
        lease one(usual, start);
        spi::time_point now = start;
        spi::time_point granted = start;  // the latest request the store said yes to
        std::vector<spi::time_point> on_their_way;
        int ends = 0;
        for (int i = 0; i < 200; ++i) {
            now += std::chrono::milliseconds(roll(4000));
            const auto before = one.deadline();
            const bool was_lost = one.now_is() == state::lost;
            lease::step step;
            if (!on_their_way.empty() && roll(2) == 0) {
                const auto which = on_their_way.begin() + roll(static_cast<int>(on_their_way.size()));
                const spi::time_point sent = *which;
                on_their_way.erase(which);
                const answer said = roll(3) == 0 ? answer::unknown : roll(40) == 0 ? answer::lost : answer::renewed;
                if (said == answer::renewed) granted = std::max(granted, sent);
                step = one.answered(said, sent, now);
            } else if (roll(4) == 0) {
                if (one.ask_early(now)) on_their_way.push_back(now);
            } else {
                step = one.poll(now);
                if (step.renew) on_their_way.push_back(now);
                ASSERT_FALSE(one.now_is() != state::lost && now >= one.deadline());
            }
            ends += step.lost ? 1 : 0;
            ASSERT_LE(one.deadline(), granted + 30s - 300ms);
            ASSERT_EQ(one.deadline(), one.counted_from() + 30s - 300ms);
            ASSERT_TRUE(was_lost || one.deadline() >= before);
            ASSERT_TRUE(!was_lost || one.now_is() == state::lost);
            ASSERT_TRUE(!was_lost || !(step.renew || step.at_risk || step.lost));
            ASSERT_TRUE(one.now_is() == state::lost || one.due() <= one.deadline());
        }
        EXPECT_EQ(ends, one.now_is() == state::lost ? 1 : 0);
    }
}

}  // namespace
}  // namespace mortise::testing
