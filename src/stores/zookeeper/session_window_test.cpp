// How long a session is known to live.
#include "stores/zookeeper/session_window.hpp"

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr spi::time_point start{1h};
constexpr auto life = 8s;  // 7.92 s of it are counted on
constexpr auto counted = 7920ms;

class window : public ::testing::Test {
protected:
    session_window of_;
    spi::duration left() const { return of_.until() - start; }
};

TEST_F(window, is_closed_before_a_session_and_after_it) {
    EXPECT_EQ(of_.until(), spi::time_point::min());
    of_.answered(start);
    EXPECT_EQ(of_.until(), spi::time_point::min());
    of_.begin(start, life);
    of_.end();
    EXPECT_EQ(of_.until(), spi::time_point::min());
}

TEST_F(window, counts_from_before_the_session_was_asked_for) {
    of_.begin(start, life);
    EXPECT_EQ(left(), counted);
}

TEST_F(window, an_answer_alone_proves_nothing) {
    of_.begin(start, life);
    of_.answered(start + 1s);
    EXPECT_EQ(left(), counted) << "the server may not have reported it to the leader yet";
    of_.answered(start + 2900ms);
    EXPECT_EQ(left(), counted) << "less than a quarter after the first";
}

TEST_F(window, a_later_answer_of_the_leader_proves_an_earlier_one) {
    of_.begin(start, life);
    for (const auto at : {1s, 2s, 3s}) of_.answered(start + at);
    EXPECT_EQ(left(), 1s + counted);
    of_.answered(start + 4s);
    EXPECT_EQ(left(), 2s + counted);
    of_.answered(start + 4s);
    EXPECT_EQ(left(), 2s + counted) << "and never goes back";
}

TEST_F(window, what_another_server_was_told_proves_nothing) {
    of_.begin(start, life);
    of_.answered(start + 1s);
    of_.go_on(life);
    of_.answered(start + 4s);
    EXPECT_EQ(left(), counted) << "the first server may have failed before it reported it to the leader";
    of_.answered(start + 6s);
    EXPECT_EQ(left(), 4s + counted);
}

TEST_F(window, a_hold_fits_into_what_is_left_while_beats_are_answered) {
    of_.begin(start, life);
    auto now = start + session_window::patience_of(life);  // so long it may take to connect
    for (int i = 0; i < 100; ++i, now += of_.beat()) {
        EXPECT_GE(of_.until(), now + of_.lease()) << i;
        of_.answered(now);
        EXPECT_LE(of_.until(), now + life);
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
