#include "checker/verdict/queue_order.hpp"

#include "checker/verdict/written_history.hpp"

#include <gtest/gtest.h>

namespace {

using namespace mortise::checker;

TEST(queue_order, who_stood_in_line_before_another_asked_comes_first) {
    written_history run;
    run.hold(1, 10, 20, 30, 1);
    run.hold(2, 12, 40, 50, 2);
    run.queued(2, 14);
    run.hold(3, 16, 60, 70, 3);
    const judgement found = queue_order(run.all(), run.holds(), 15);
    EXPECT_TRUE(found.sound());
    EXPECT_EQ(found.checked, 1U) << "process 2, who waited while 3 came";
}

TEST(queue_order, who_is_served_before_one_who_stood_there_is_convicted) {
    written_history run;
    run.hold(2, 12, 60, 70, 3);
    run.queued(2, 14);
    run.hold(3, 16, 40, 50, 2);
    const judgement found = queue_order(run.all(), run.holds(), 15);
    EXPECT_EQ(found.count, 1U);
    EXPECT_NE(found.violations.at(0).what.find("process 2"), std::string::npos);
}

TEST(queue_order, of_two_who_came_at_the_same_time_is_unknown) {
    written_history run;
    run.hold(2, 12, 60, 70, 3);
    run.queued(2, 18);
    run.hold(3, 16, 40, 50, 2);
    EXPECT_TRUE(queue_order(run.all(), run.holds(), 15).sound());
}

TEST(queue_order, a_place_belongs_to_the_attempt_that_was_under_way) {
    written_history run;
    run.hold(2, 10, 20, 25, 1);
    run.queued(2, 12);
    run.hold(3, 30, 40, 45, 2);
    run.hold(2, 28, 60, 70, 3);
    EXPECT_TRUE(queue_order(run.all(), run.holds(), 15).sound()) << "nobody knows when its second claim stood in line";
}

// Process 2 is granted the lock at 20, says nothing, and loses it at 36; 3 asked at 16, and holds from 37.
written_history one_that_does_not_answer(std::int64_t next_granted) {
    written_history run;
    run.hold(1, 10, 11, 20, 1);
    run.hold(2, 12, 60, 70, 4);
    run.queued(2, 14);
    run.hold(3, 16, next_granted, 50, 3);
    run.unqueued(2, 40);
    run.queued(2, 42);
    return run;
}

TEST(queue_order, who_does_not_answer_its_grant_may_lose_its_place) {
    const written_history run = one_that_does_not_answer(37);
    const judgement found = queue_order(run.all(), run.holds(), 15);
    EXPECT_TRUE(found.sound());
    EXPECT_EQ(found.excused, 1U);
}

TEST(queue_order, who_loses_its_place_while_the_lock_is_in_use_is_passed) {
    const written_history run = one_that_does_not_answer(24);
    const judgement found = queue_order(run.all(), run.holds(), 15);
    EXPECT_EQ(found.count, 1U);
    EXPECT_EQ(found.excused, 0U);
}

TEST(queue_order, a_lock_is_in_use_until_the_lease_of_a_dead_holder_ends) {
    written_history run;
    run.leased(1, 10, 11, 41, 1);  // and is killed
    run.hold(2, 12, 60, 70, 4);
    run.queued(2, 14);
    run.hold(3, 16, 43, 50, 3);
    run.unqueued(2, 40);
    run.queued(2, 42);
    EXPECT_EQ(queue_order(run.all(), run.holds(), 15).count, 1U);
}

TEST(queue_order, a_lock_is_free_when_the_lease_of_a_stopped_holder_ends) {
    written_history run;
    const auto stopped = run.leased(1, 10, 11, 20, 1);
    run.release(1, stopped, 65, 66, phase::lost);
    run.hold(2, 12, 60, 70, 4);
    run.queued(2, 14);
    run.hold(3, 16, 37, 50, 3);
    run.unqueued(2, 40);
    run.queued(2, 42);
    EXPECT_TRUE(queue_order(run.all(), run.holds(), 15).sound());
}

TEST(queue_order, each_place_that_is_lost_needs_an_excuse) {
    written_history run = one_that_does_not_answer(37);
    run.hold(4, 44, 52, 55, 3);  // asked when process 2 stood in line again, which it left while the lock was in use
    run.unqueued(2, 53);
    run.queued(2, 54);
    EXPECT_EQ(queue_order(run.all(), run.holds(), 15).count, 1U);
}

TEST(queue_order, who_stands_anew_is_not_passed_either) {
    written_history run = one_that_does_not_answer(37);
    run.hold(4, 44, 52, 55, 3);  // asked when process 2 stood in line again
    EXPECT_EQ(queue_order(run.all(), run.holds(), 15).count, 1U);
}

}  // namespace
