// core/timers, beside an ordered map that does the same plainly.
#include "core/timers.hpp"

#include <chrono>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::core {
namespace {

using namespace std::chrono_literals;
using time_point = timers::time_point;

time_point at(int n) {
    return time_point{} + std::chrono::milliseconds{n};
}

TEST(timers, those_of_one_time_are_due_in_the_order_in_which_they_were_added) {
    timers all;
    std::vector<int> ran;
    for (int i = 0; i < 5; ++i) all.add(at(7), [&ran, i] { ran.push_back(i); });
    all.add(at(3), [&ran] { ran.push_back(-1); });
    EXPECT_FALSE(all.take_due(at(2)));
    while (spi::task one = all.take_due(at(7))) one();
    EXPECT_EQ(ran, (std::vector{-1, 0, 1, 2, 3, 4}));
    EXPECT_EQ(all.next(), time_point::max());
}

TEST(timers, an_id_of_the_past_cancels_nothing) {
    timers all;
    const auto first = all.add(at(1), [] {});
    EXPECT_TRUE(all.cancel(first));
    const auto second = all.add(at(2), [] {});
    EXPECT_NE(first, second);
    EXPECT_FALSE(all.cancel(first)) << "its place is another's now";
    EXPECT_FALSE(all.cancel(0));
    EXPECT_EQ(all.next(), at(2));
    EXPECT_TRUE(all.cancel(second));
    EXPECT_EQ(all.next(), time_point::max());
}

TEST(timers, random_histories_agree_with_an_ordered_map) {
    std::mt19937 dice{20261117};
    const auto below = [&](int n) { return std::uniform_int_distribution<int>{0, n - 1}(dice); };
    for (int history = 0; history < 50; ++history) {
        timers all;
        std::map<std::pair<time_point, int>, timers::timer_id> model;  // by time, then by order of arrival
        int now = 0;
        int last = 0;
        int ran = 0;
        for (int step = 0; step < 2000; ++step) {
            switch (below(history % 2 == 0 ? 3 : 8)) {
                case 0: {
                    ASSERT_EQ(all.next(), model.empty() ? time_point::max() : model.begin()->first.first);
                    now += below(20);
                    while (spi::task one = all.take_due(at(now))) {
                        one();
                        ASSERT_FALSE(model.empty());
                        ASSERT_EQ(ran, model.begin()->first.second);
                        model.erase(model.begin());
                    }
                    ASSERT_TRUE(model.empty() || model.begin()->first.first > at(now));
                    break;
                }
                case 1: {
                    const time_point when = at(now + below(100));
                    ++last;
                    model[{when, last}] = all.add(when, [&ran, n = last] { ran = n; });
                    break;
                }
                default: {  // set, and cancelled soon
                    const time_point when = at(now + below(100));
                    ++last;
                    model[{when, last}] = all.add(when, [&ran, n = last] { ran = n; });
                    const auto which = std::next(model.begin(), below(static_cast<int>(model.size())));
                    ASSERT_TRUE(all.cancel(which->second));
                    model.erase(which);
                }
            }
        }
    }
}

}  // namespace
}  // namespace mortise::inline v0::core
