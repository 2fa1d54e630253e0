#include "checker/sim/sim_clock.hpp"

#include "checker/sim/sim_world.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

TEST(sim_clock, stands_still_and_does_not_start_at_zero) {
    sim_clock clock;
    EXPECT_GT(clock.now(), spi::clock::time_point{});
    EXPECT_EQ(clock.now(), clock.now());
    EXPECT_EQ(clock.next(), std::nullopt);
}

TEST(sim_clock, runs_timers_in_time_order_each_at_its_own_time) {
    sim_clock clock;
    const auto start = clock.now();
    std::vector<std::pair<char, spi::clock::time_point>> ran;
    auto note = [&](char which) { return [&, which] { ran.emplace_back(which, clock.now()); }; };
    clock.at(start + 3s, note('c'));
    clock.at(start + 1s, note('a'));
    clock.at(start + 2s, note('b'));
    clock.at(start + 5s, note('e'));
    EXPECT_EQ(clock.pending(), 4u);
    EXPECT_EQ(clock.next(), start + 1s);

    clock.advance(4s);

    using list = decltype(ran);
    EXPECT_EQ(ran, (list{{'a', start + 1s}, {'b', start + 2s}, {'c', start + 3s}}));
    EXPECT_EQ(clock.now(), start + 4s);
    EXPECT_EQ(clock.pending(), 1u);
}

TEST(sim_clock, runs_ties_in_the_order_of_their_adding) {
    sim_clock clock;
    std::string ran;
    for (char which : {'x', 'y', 'z'}) clock.at(clock.now() + 1s, [&ran, which] { ran += which; });
    clock.advance(1s);
    EXPECT_EQ(ran, "xyz");
}

TEST(sim_clock, runs_timers_that_timers_add) {
    sim_clock clock;
    int ticks = 0;
    auto tick = [&](auto self) -> void {
        ++ticks;
        clock.at(clock.now() + 1s, [self] { self(self); });
    };
    clock.at(clock.now() + 1s, [tick] { tick(tick); });
    clock.advance(10s);
    EXPECT_EQ(ticks, 10);
    EXPECT_EQ(clock.next(), clock.now() + 1s);
}

TEST(sim_clock, never_runs_a_timer_from_inside_at) {
    sim_clock clock;
    bool ran = false;
    clock.at(clock.now() - 1s, [&] { ran = true; });
    EXPECT_FALSE(ran);
    const auto before = clock.now();
    clock.run_due();
    EXPECT_TRUE(ran);
    EXPECT_EQ(clock.now(), before);  // an overdue timer does not turn time back
}

TEST(sim_clock, does_not_go_back) {
    sim_clock clock;
    const auto start = clock.now();
    clock.advance_to(start - 1h);
    EXPECT_EQ(clock.now(), start);
}

TEST(sim_clock, cancels_once_and_forgives_the_rest) {
    sim_clock clock;
    auto owned = std::make_shared<int>();
    const auto id = clock.at(clock.now() + 1s, [owned] { FAIL(); });
    clock.cancel(id);
    EXPECT_EQ(owned.use_count(), 1);
    clock.cancel(id);
    clock.cancel(0);
    clock.cancel(4711);
    clock.advance(2s);
}

TEST(sim_clock, a_timer_may_cancel_itself_and_others) {
    sim_clock clock;
    spi::clock::timer_id self = 0;
    spi::clock::timer_id other = 0;
    int ran = 0;
    self = clock.at(clock.now() + 1s, [&] {
        ++ran;
        clock.cancel(self);
        clock.cancel(other);
    });
    other = clock.at(clock.now() + 1s, [&] { ran += 100; });
    clock.advance(1s);
    EXPECT_EQ(ran, 1);
}

TEST(sim_clock, a_cancelled_task_may_use_the_clock_in_its_destructor) {
    sim_clock clock;
    struct cancels_another {
        cancels_another(sim_clock* which_clock, spi::clock::timer_id which) : clock(which_clock), other(which) {}
        ~cancels_another() { clock->cancel(other); }
        sim_clock* clock;
        spi::clock::timer_id other;
    };
    const auto other = clock.at(clock.now() + 1s, [] { FAIL(); });
    const auto id = clock.at(clock.now() + 1s, [owned = std::make_unique<cancels_another>(&clock, other)] {});
    clock.cancel(id);
    EXPECT_EQ(clock.pending(), 0u);
}

TEST(sim_clock, after_a_jump_timers_run_late) {
    sim_clock clock;
    const auto start = clock.now();
    std::vector<spi::clock::time_point> ran;
    clock.at(start + 1s, [&] { ran.push_back(clock.now()); });
    clock.jump(60s);
    EXPECT_TRUE(ran.empty());
    EXPECT_EQ(clock.now(), start + 60s);
    clock.run_due();
    EXPECT_EQ(ran, (std::vector{start + 60s}));
}

TEST(sim_clock, takes_timers_from_other_threads) {
    sim_clock clock;
    std::atomic<int> ran = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 1000; ++i) {
                    const auto kept = clock.at(clock.now() + 1s, [&] { ++ran; });
                    const auto dropped = clock.at(clock.now() + 1h, [&] { ran += 1000000; });
                    clock.cancel(dropped);
                    EXPECT_NE(kept, dropped);
                }
            });
        }
        for (int i = 0; i < 100; ++i) clock.advance(1ms);
    }
    clock.advance(1s);
    EXPECT_EQ(ran, 4000);
    EXPECT_EQ(clock.pending(), 0u);
}

TEST(manual_notifier, runs_in_order_and_what_is_posted_meanwhile) {
    manual_notifier notifier;
    std::string ran;
    notifier.post([&] {
        ran += 'a';
        notifier.post([&] { ran += 'c'; });
    });
    notifier.post([&] { ran += 'b'; });
    EXPECT_EQ(ran, "");
    EXPECT_EQ(notifier.pending(), 2u);
    EXPECT_EQ(notifier.run(), 3u);
    EXPECT_EQ(ran, "abc");
    EXPECT_EQ(notifier.run(), 0u);
}

TEST(sim_world, callbacks_see_the_time_of_their_cause) {
    sim_world sim;
    const auto start = sim.clock().now();
    std::vector<spi::clock::time_point> seen;
    sim.clock().at(start + 2s, [&] {
        sim.notifier().post([&] {
            seen.push_back(sim.clock().now());
            sim.clock().at(sim.clock().now() + 3s, [&] { seen.push_back(sim.clock().now()); });
        });
    });
    sim.advance(10s);
    EXPECT_EQ(seen, (std::vector{start + 2s, start + 5s}));
    EXPECT_EQ(sim.clock().now(), start + 10s);
}

TEST(sim_world, a_pause_makes_everything_late) {
    sim_world sim;
    const auto start = sim.clock().now();
    std::vector<spi::clock::time_point> seen;
    sim.clock().at(start + 2s, [&] { sim.notifier().post([&] { seen.push_back(sim.clock().now()); }); });
    sim.pause(60s);
    EXPECT_EQ(seen, (std::vector{start + 60s}));
}

}  // namespace
}  // namespace mortise::testing
