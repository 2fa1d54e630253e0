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
    const judgement found = queue_order(run.all(), run.holds());
    EXPECT_TRUE(found.sound());
    EXPECT_EQ(found.checked, 1U) << "process 2, who waited while 3 came";
}

TEST(queue_order, who_is_served_before_one_who_stood_there_is_convicted) {
    written_history run;
    run.hold(2, 12, 60, 70, 3);
    run.queued(2, 14);
    run.hold(3, 16, 40, 50, 2);
    const judgement found = queue_order(run.all(), run.holds());
    EXPECT_EQ(found.count, 1U);
    EXPECT_NE(found.violations.at(0).what.find("process 2"), std::string::npos);
}

TEST(queue_order, of_two_who_came_at_the_same_time_is_unknown) {
    written_history run;
    run.hold(2, 12, 60, 70, 3);
    run.queued(2, 18);
    run.hold(3, 16, 40, 50, 2);
    EXPECT_TRUE(queue_order(run.all(), run.holds()).sound());
}

TEST(queue_order, a_place_belongs_to_the_attempt_that_was_under_way) {
    written_history run;
    run.hold(2, 10, 20, 25, 1);
    run.queued(2, 12);
    run.hold(3, 30, 40, 45, 2);
    run.hold(2, 28, 60, 70, 3);
    EXPECT_TRUE(queue_order(run.all(), run.holds()).sound()) << "nobody knows when its second claim stood in line";
}

}  // namespace
