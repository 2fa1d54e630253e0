#include "checker/verdict/exclusion.hpp"

#include "checker/verdict/linearizable.hpp"
#include "checker/verdict/order.hpp"
#include "checker/verdict/written_history.hpp"

#include <gtest/gtest.h>

namespace {

using namespace mortise::checker;

constexpr written_history::share reader{1, 100};
constexpr written_history::share writer{100, 100};

// C1. Bad histories first.

TEST(timed_exclusion, two_at_once_are_convicted) {
    written_history run;
    run.hold(1, 10, 20, 40, 1);
    run.hold(2, 10, 30, 50, 2);
    const judgement found = timed_exclusion(run.holds());
    ASSERT_EQ(found.count, 1U);
    EXPECT_EQ(found.violations.front().from, 20);
    EXPECT_EQ(found.violations.front().to, 40);
}

TEST(timed_exclusion, one_inside_the_other_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 90, 1);
    run.hold(2, 30, 40, 50, 2);
    run.hold(3, 60, 70, 80, 3);
    EXPECT_EQ(timed_exclusion(run.holds()).count, 2U) << "both met the first";
}

TEST(timed_exclusion, a_hold_that_was_never_released_counts_until_it_was_last_valid) {
    written_history run;
    run.valid(1, run.hold(1, 10, 20, 0, 1), 60);
    run.hold(2, 30, 50, 70, 2);
    EXPECT_EQ(timed_exclusion(run.holds()).count, 1U);
}

TEST(timed_exclusion, a_pause_that_valid_does_not_notice_is_convicted) {
    written_history run;
    const auto slept = run.hold(1, 10, 20, 0, 1);
    run.valid(1, slept, 25);
    run.hold(2, 30, 500, 510, 2);
    run.valid(1, slept, 600);  // it woke, and still believes
    EXPECT_EQ(timed_exclusion(run.holds()).count, 1U);
}

TEST(timed_exclusion, a_writer_among_readers_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 50, 1, reader);
    run.hold(2, 10, 20, 50, 2, reader);
    run.hold(3, 10, 30, 40, 3, writer);
    EXPECT_EQ(timed_exclusion(run.holds()).count, 2U);
}

TEST(timed_exclusion, a_reader_beside_a_writer_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 50, 1, writer);
    run.hold(2, 10, 30, 50, 2, reader);
    EXPECT_EQ(timed_exclusion(run.holds()).count, 1U);
}

TEST(timed_exclusion, one_permit_too_many_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 50, 1, {1, 2});
    run.hold(2, 10, 30, 50, 2, {1, 2});
    run.hold(3, 10, 40, 50, 3, {1, 2});
    EXPECT_FALSE(timed_exclusion(run.holds()).sound());
}

TEST(timed_exclusion, one_among_a_hundred_thousand_is_found) {
    written_history run;
    for (std::int64_t i = 0; i < 100'000; ++i)
        run.hold(1 + i % 7, 10 * i + 1, 10 * i + 2, 10 * i + 9, static_cast<std::uint64_t>(i + 1));
    run.hold(9, 500'001, 500'005, 500'006, 1'000'000);
    const judgement found = timed_exclusion(run.holds());
    EXPECT_EQ(found.count, 1U);
    EXPECT_EQ(found.checked, 100'001U);
}

// And good ones.

TEST(timed_exclusion, acquits_those_who_follow_each_other) {
    written_history run;
    run.hold(1, 10, 20, 30, 1);
    run.hold(2, 10, 30, 40, 2);  // in the same nanosecond
    run.hold(1, 35, 41, 60, 3);
    EXPECT_TRUE(timed_exclusion(run.holds()).sound());
}

TEST(timed_exclusion, acquits_a_loss_that_valid_told) {
    written_history run;
    const auto slept = run.hold(1, 10, 20, 0, 1);
    run.valid(1, slept, 25);
    run.hold(2, 30, 500, 510, 2);
    run.valid(1, slept, 600, phase::lost);
    EXPECT_TRUE(timed_exclusion(run.holds()).sound());
}

TEST(timed_exclusion, acquits_a_hold_whose_owner_was_killed) {
    written_history run;
    run.valid(1, run.hold(1, 10, 20, 0, 1), 30);
    run.hold(2, 10, 40, 50, 2);
    EXPECT_TRUE(timed_exclusion(run.holds()).sound());
}

TEST(timed_exclusion, acquits_other_locks_readers_and_permits) {
    written_history run;
    run.hold(1, 10, 20, 50, 1);
    run.hold(2, 10, 20, 50, 1, {}, 1);
    run.hold(1, 110, 120, 150, 2, reader);
    run.hold(2, 110, 120, 150, 3, reader);
    run.hold(3, 130, 150, 160, 4, writer);
    run.hold(1, 110, 120, 150, 2, {2, 5}, 2);
    run.hold(2, 110, 120, 150, 3, {3, 5}, 2);
    EXPECT_TRUE(timed_exclusion(run.holds()).sound());
}

TEST(timed_exclusion, excuses_what_the_store_forgot_and_nothing_else) {
    written_history run;
    run.hold(1, 10, 20, 60, 1);
    run.hold(2, 30, 50, 60, 2);
    EXPECT_EQ(timed_exclusion(run.holds(), {{40}}).count, 0U);
    EXPECT_EQ(timed_exclusion(run.holds(), {{40}}).excused, 1U);
    EXPECT_EQ(timed_exclusion(run.holds(), {{5, 55}}).count, 1U);
}

TEST(timed_exclusion, excuses_what_was_granted_while_the_store_forgot_again_and_again) {
    written_history run;
    run.hold(1, 10, 20, 60, 1);
    run.hold(2, 30, 50, 60, 2);
    const excuses forgetful{.spells = {{5, 55}}};
    EXPECT_EQ(timed_exclusion(run.holds(), forgetful).excused, 1U);
    const excuses before{.spells = {{1, 9}}};
    EXPECT_EQ(timed_exclusion(run.holds(), before).count, 1U);
    const excuses after{.spells = {{51, 70}}};
    EXPECT_EQ(timed_exclusion(run.holds(), after).count, 1U);
}

TEST(timed_exclusion, excuses_also_who_hears_late_of_a_grant_that_the_store_forgot) {
    written_history run;
    run.hold(1, 10, 55, 60, 1);
    run.hold(2, 42, 50, 60, 2);
    EXPECT_TRUE(timed_exclusion(run.holds(), {{40}}).sound());
    EXPECT_EQ(timed_exclusion(run.holds(), {{5, 56}}).count, 1U);
}

// A client that keeps a lock takes it again by itself, and does not know that the store has forgotten it.
written_history a_kept_lock_that_is_forgotten() {
    written_history run;
    const auto token = [](std::uint64_t counter, std::uint64_t turn) { return counter << 10 | turn; };
    run.hold(1, 10, 20, 22, token(5, 0));
    run.hold(2, 35, 40, 60, token(6, 0));
    run.hold(1, 45, 46, 50, token(5, 1));
    return run;
}

TEST(kept_turns, of_a_grant_that_the_store_forgot_are_excused) {
    const written_history run = a_kept_lock_that_is_forgotten();
    EXPECT_EQ(timed_exclusion(run.holds(), {{30}}).excused, 1U);
    EXPECT_EQ(grant_order(run.holds(), {{30}}).excused, 1U);
    EXPECT_TRUE(linearizable(run.holds(), lock_model::fenced, {{30}}).sound());
}

TEST(kept_turns, of_any_other_grant_are_not) {
    const written_history run = a_kept_lock_that_is_forgotten();
    EXPECT_EQ(timed_exclusion(run.holds(), {{5}}).count, 1U);
    EXPECT_EQ(grant_order(run.holds(), {{5}}).count, 1U);
    EXPECT_FALSE(linearizable(run.holds(), lock_model::fenced, {{5}}).sound());
}

// C2. Bad histories.

TEST(grant_order, a_token_that_falls_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 30, 7);
    run.hold(2, 40, 50, 60, 6);
    EXPECT_EQ(grant_order(run.holds()).count, 1U);
}

TEST(grant_order, a_token_that_is_given_twice_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 30, 7);
    run.hold(2, 10, 50, 60, 7);
    EXPECT_EQ(grant_order(run.holds()).count, 1U);
}

TEST(grant_order, a_token_that_falls_long_after_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 30, 100);
    for (std::int64_t i = 1; i < 9; ++i)
        run.hold(2, 100 * i, 100 * i + 1, 100 * i + 2, 100 + static_cast<std::uint64_t>(i));
    run.hold(3, 1000, 1001, 1002, 99);
    EXPECT_FALSE(grant_order(run.holds()).sound());
}

TEST(grant_order, a_writer_with_the_token_of_a_reader_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 30, 5, reader);
    run.hold(2, 40, 50, 60, 5, writer);
    EXPECT_EQ(grant_order(run.holds()).count, 1U);
}

TEST(grant_order, a_reader_below_a_writer_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 30, 5, writer);
    run.hold(2, 40, 50, 60, 4, reader);
    EXPECT_EQ(grant_order(run.holds()).count, 1U);
}

TEST(grant_order, another_token_on_reentry_is_convicted) {
    written_history run;
    const auto outer = run.hold(1, 10, 20, 90, 5);
    run.reenter(1, outer, 30, 40, 6);
    EXPECT_EQ(grant_order(run.holds()).count, 1U);
}

TEST(grant_order, a_dead_holders_token_counts) {
    written_history run;
    run.acquire(1, 10, 20, 9);  // killed
    run.hold(2, 30, 40, 50, 8);
    EXPECT_EQ(grant_order(run.holds()).count, 1U);
}

// Good ones.

TEST(grant_order, acquits_tokens_that_rise_or_whose_order_is_not_known) {
    written_history run;
    run.hold(1, 10, 25, 30, 7);
    run.hold(2, 20, 50, 60, 6);  // asked while the other was: the answer of 7 came late
    run.hold(1, 70, 80, 90, 8);
    run.hold(2, 10, 20, 30, 1, {}, 1);  // of another lock
    EXPECT_TRUE(grant_order(run.holds()).sound());
}

TEST(grant_order, acquits_readers_of_any_order_and_a_reentry_with_the_same) {
    written_history run;
    run.hold(1, 10, 20, 30, 7, reader);
    run.hold(2, 40, 50, 60, 7, reader);
    run.hold(3, 40, 50, 60, 6, reader);
    run.reenter(4, run.hold(4, 70, 80, 90, 8, writer), 81, 82, 8);
    EXPECT_TRUE(grant_order(run.holds()).sound());
}

// C4. Bad histories.

TEST(linearizability, two_that_hold_at_once_are_convicted) {
    written_history run;
    run.hold(1, 10, 20, 40, 1);
    run.hold(2, 10, 30, 50, 2);
    for (const lock_model model : {lock_model::mutex, lock_model::reentrant, lock_model::fenced})
        EXPECT_EQ(linearizable(run.holds(), model).count, 1U);
}

TEST(linearizability, a_grant_beside_a_holder_that_never_leaves_is_convicted) {
    written_history run;
    run.valid(1, run.hold(1, 10, 20, 0, 1), 100);
    run.hold(2, 30, 40, 50, 2);
    EXPECT_EQ(linearizable(run.holds(), lock_model::mutex).count, 1U);
}

TEST(linearizability, who_stood_still_before_it_heard_of_its_grant_may_have_lost_it_by_then) {
    written_history run;
    const auto late = run.acquire(1, 10, 100, 1);  // granted at 11, say, and stopped until 100
    run.valid(1, late, 101, phase::lost);
    run.hold(2, 30, 40, 50, 2);
    EXPECT_TRUE(linearizable(run.holds(), lock_model::fenced).sound());
    run.valid(1, late, 102);
    EXPECT_EQ(linearizable(run.holds(), lock_model::fenced).count, 1U) << "it was valid, so it was not lost";
    EXPECT_TRUE(linearizable(run.holds(), lock_model::fenced, {{25}}).sound()) << "but the store forgot it";
}

TEST(linearizability, a_release_after_anothers_grant_is_convicted) {
    written_history run;
    const auto first = run.acquire(1, 10, 20, 1);
    run.hold(2, 30, 40, 50, 2);
    run.release(1, first, 60, 61);  // it was "held to the end"
    EXPECT_EQ(linearizable(run.holds(), lock_model::mutex).count, 1U);
    EXPECT_TRUE(timed_exclusion(run.holds()).sound()) << "nobody looked; only the release tells";
}

TEST(linearizability, tokens_that_no_order_explains_are_convicted) {
    written_history run;
    run.hold(1, 10, 20, 30, 2);
    run.hold(2, 40, 50, 60, 1);
    EXPECT_TRUE(linearizable(run.holds(), lock_model::mutex).sound());
    EXPECT_EQ(linearizable(run.holds(), lock_model::fenced).count, 1U);
}

TEST(linearizability, a_reentry_after_the_loss_is_convicted) {
    written_history run;
    const auto outer = run.acquire(1, 10, 20, 1);
    run.hold(2, 30, 40, 50, 2);
    run.reenter(1, outer, 60, 70, 1);
    run.valid(1, outer, 80, phase::lost);
    EXPECT_EQ(linearizable(run.holds(), lock_model::reentrant).count, 1U);
    EXPECT_TRUE(linearizable(run.holds(), lock_model::mutex).sound());
}

TEST(linearizability, a_writer_among_readers_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 50, 1, reader);
    run.hold(2, 10, 20, 30, 2, reader);
    run.hold(3, 32, 40, 45, 3, writer);
    EXPECT_EQ(linearizable(run.holds(), lock_model::read_write).count, 1U);
}

TEST(linearizability, one_permit_too_many_is_convicted) {
    written_history run;
    run.hold(1, 10, 20, 50, 1, {2, 3});
    run.hold(2, 30, 35, 50, 2, {2, 3});
    EXPECT_EQ(linearizable(run.holds(), lock_model::semaphore).count, 1U);
}

TEST(linearizability, gives_up_rather_than_say_nothing_is_wrong) {
    written_history run;
    for (std::uint32_t i = 0; i < 12; ++i) run.hold(i + 1, 10, 100 + i, 200 + i, i + 1, reader);
    EXPECT_EQ(linearizable(run.holds(), lock_model::semaphore, {}, 100).undecided, 1U);
    EXPECT_EQ(linearizable(run.holds(), lock_model::semaphore).undecided, 0U);
}

// Good ones.

TEST(linearizability, acquits_a_long_contest_with_losses_and_deaths) {
    written_history run;
    for (std::int64_t i = 0; i < 5'000; ++i) {
        const auto pid = static_cast<std::uint32_t>(1 + i % 5);
        const auto token = static_cast<std::uint64_t>(i + 1);
        const std::int64_t at = 100 * (i + 1);
        const std::int64_t asked = at - 99;  // while the one before holds
        const auto mine = run.acquire(pid, asked, at + 10, token);
        if (i % 10 == 3) continue;  // killed
        run.valid(pid, mine, at + 50);
        if (i % 10 == 7)
            run.release(pid, mine, at + 5'000, at + 5'001, phase::lost);
        else
            run.release(pid, mine, at + 60, i % 10 == 5 ? 0 : at + 105);  // answered after the next grant
    }
    for (const lock_model model : {lock_model::mutex, lock_model::reentrant, lock_model::fenced}) {
        const judgement found = linearizable(run.holds(), model);
        EXPECT_TRUE(found.sound()) << found.violations.front().what;
        EXPECT_EQ(found.undecided, 0U);
        EXPECT_GT(found.checked, 5'000U);
    }
}

TEST(linearizability, acquits_readers_writers_and_permits) {
    written_history run;
    run.hold(1, 10, 20, 50, 5, reader);
    run.hold(2, 10, 20, 51, 5, reader);
    run.hold(3, 10, 52, 60, 6, writer);
    run.hold(4, 10, 61, 70, 7, reader);
    EXPECT_TRUE(linearizable(run.holds(), lock_model::read_write).sound());
    written_history pool;
    pool.hold(1, 10, 20, 50, 1, {2, 5});
    pool.hold(2, 10, 20, 51, 2, {3, 5});
    pool.hold(3, 10, 51, 60, 3, {2, 5});
    EXPECT_TRUE(linearizable(pool.holds(), lock_model::semaphore).sound());
}

TEST(linearizability, excuses_what_the_store_forgot) {
    written_history run;
    run.hold(1, 10, 20, 60, 1);
    run.hold(2, 30, 50, 55, 2);
    EXPECT_TRUE(linearizable(run.holds(), lock_model::fenced, {{40}}).sound());
    EXPECT_FALSE(linearizable(run.holds(), lock_model::fenced, {{70}}).sound());
}

}  // namespace
