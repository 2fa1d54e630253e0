#include "checker/history/overlap.hpp"
#include "checker/history/queue_history.hpp"
#include "support/fair_share.hpp"
#include "support/memory_use.hpp"
#include "support/recording_observer.hpp"
#include "support/waiting.hpp"

#include <mortise/observer.hpp>
#include <mortise/token.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

TEST(overlap_checker, acquits_a_real_mutex) {
    overlap_checker checker;
    visit_history history;
    std::mutex mutex;
    std::uint64_t counter = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&, &lane = history.make_lane()] {
                for (int i = 0; i < 5000; ++i) {
                    std::scoped_lock guard{mutex};
                    const token mine{++counter};
                    checker.enter(mine);
                    lane.enter(mine);
                    lane.leave();
                    checker.leave();
                }
            });
        }
    }
    EXPECT_EQ(checker.entries(), 20000u);
    EXPECT_EQ(checker.overlaps(), 0u);
    EXPECT_EQ(checker.token_disorders(), 0u);
    const auto found = history.check();
    EXPECT_EQ(found.visits, 20000u);
    EXPECT_EQ(found.overlaps, 0u);
    EXPECT_EQ(found.token_disorders, 0u);
}

TEST(overlap_checker, convicts_the_absence_of_one) {
    overlap_checker checker;
    visit_history history;
    std::atomic<int> inside = 0;
    {
        std::vector<std::jthread> threads;
        for (std::uint64_t t = 1; t <= 2; ++t) {
            threads.emplace_back([&, t, &lane = history.make_lane()] {
                checker.enter(token{t});
                lane.enter(token{t});
                ++inside;
                while (inside < 2) std::this_thread::yield();  // until both are in
                lane.leave();
                checker.leave();
            });
        }
    }
    EXPECT_EQ(checker.overlaps(), 1u);
    EXPECT_EQ(history.check().overlaps, 1u);
}

TEST(overlap_checker, convicts_tokens_that_do_not_rise) {
    overlap_checker checker;
    for (std::uint64_t value : {5u, 6u, 6u, 4u, 7u}) {
        checker.enter(token{value});
        checker.leave();
    }
    EXPECT_EQ(checker.overlaps(), 0u);
    EXPECT_EQ(checker.token_disorders(), 2u);
}

visit_history::visit between(int from, int to, std::uint64_t token) {
    const boot_clock::time_point zero{};
    return {zero + std::chrono::seconds{from}, zero + std::chrono::seconds{to}, token};
}

TEST(visit_history, touching_is_not_overlapping) {
    const auto found = visit_history::check({between(3, 4, 2), between(1, 3, 1), between(4, 4, 3), between(4, 9, 4)});
    EXPECT_EQ(found.overlaps, 0u);
    EXPECT_EQ(found.token_disorders, 0u);
}

TEST(visit_history, one_long_visit_overlaps_all_within_it) {
    const auto found = visit_history::check({between(0, 9, 1), between(1, 2, 2), between(3, 4, 3), between(9, 10, 4)});
    EXPECT_EQ(found.overlaps, 2u);
    EXPECT_EQ(found.token_disorders, 0u);
}

TEST(visit_history, tokens_rise_in_order_of_entry) {
    const auto found = visit_history::check({between(0, 1, 7), between(2, 3, 7), between(4, 5, 6), between(6, 7, 8)});
    EXPECT_EQ(found.overlaps, 0u);
    EXPECT_EQ(found.token_disorders, 2u);
}

TEST(fifo_checker, counts_those_served_after_a_later_one) {
    fifo_checker checker;
    std::vector<std::uint64_t> tickets;
    for (int i = 0; i < 5; ++i) tickets.push_back(checker.draw());
    for (std::size_t i : {0u, 3u, 1u, 2u, 4u}) checker.served(tickets[i]);
    EXPECT_EQ(checker.drawn(), 5u);
    EXPECT_EQ(checker.served(), 5u);
    EXPECT_EQ(checker.inversions(), 2u);
}

// Asked at, in line at, granted at, counter.
TEST(check_order, acquits_claims_that_are_served_in_turn) {
    const auto found = check_order({{0, 1, 1, 10}, {2, 3, 9, 11}, {4, 5, 11, 12}, {6, 7, 13, 20}});
    EXPECT_EQ(found.claims, 4u);
    EXPECT_EQ(found.contested, 2u);
    EXPECT_EQ(found.inversions.size(), 0u);
}

TEST(check_order, acquits_where_nobody_can_know_who_came_first) {
    EXPECT_EQ(check_order({{1, 5, 9, 10}, {2, 3, 7, 9}}).inversions.size(), 0u);
    EXPECT_EQ(check_order({{1, 5, 9, 10}, {5, 6, 7, 9}}).inversions.size(), 0u) << "in the same nanosecond";
    EXPECT_EQ(check_order({}).inversions.size(), 0u);
}

TEST(check_order, convicts_whoever_is_served_before_one_that_was_in_line) {
    const auto found = check_order({{1, 5, 9, 10}, {6, 7, 8, 9}});
    EXPECT_EQ(found.contested, 1u);
    EXPECT_EQ(found.inversions.size(), 1u);
    // One that pushes past three wrongs three.
    EXPECT_EQ(check_order({{1, 2, 20, 11}, {1, 3, 21, 12}, {2, 4, 22, 13}, {8, 9, 10, 10}}).inversions.size(), 3u);
}

TEST(check_order, acquits_readers_that_pass_each_other_and_convicts_those_that_pass_a_writer) {
    const auto reader = [](queued_claim one) {
        one.capacity = 10;
        return one;
    };
    const auto writer = [](queued_claim one) {
        one.weight = one.capacity = 10;
        return one;
    };
    const auto inversions = [](const std::vector<queued_claim>& all) {
        return check_order(all, in_order::those_that_exclude_each_other).inversions.size();
    };
    EXPECT_EQ(inversions({reader({1, 5, 9, 10}), reader({6, 7, 8, 9})}), 0u);
    EXPECT_EQ(inversions({writer({1, 5, 9, 10}), reader({6, 7, 8, 9})}), 1u);
    EXPECT_EQ(inversions({reader({1, 5, 9, 10}), writer({6, 7, 8, 9})}), 1u);
    EXPECT_EQ(check_order({reader({1, 5, 9, 10}), reader({6, 7, 8, 9})}).inversions.size(), 1u);
}

// Also if others were served in between, in good order.
TEST(check_order, convicts_over_any_distance) {
    std::vector<queued_claim> all{{0, 1, 5000, 900}};
    for (std::int64_t n = 1; n < 500; ++n) all.push_back({2 * n, 2 * n + 1, 2 * n + 1, static_cast<std::uint64_t>(n)});
    EXPECT_EQ(check_order(all).inversions.size(), 1u);
    all.front().counter = 0;
    EXPECT_EQ(check_order(all).inversions.size(), 0u);
}

TEST(recording_observer, remembers_by_name_and_kind) {
    recording_observer seen;
    for (auto kind : {event_kind::claimed, event_kind::granted, event_kind::released}) {
        seen.on_event({.kind = kind, .name = "a"});
        if (kind == event_kind::claimed) seen.on_event({.kind = kind, .name = "b"});
    }
    EXPECT_EQ(seen.kinds("a"), (std::vector{event_kind::claimed, event_kind::granted, event_kind::released}));
    EXPECT_EQ(seen.kinds("b"), (std::vector{event_kind::claimed}));
    EXPECT_EQ(seen.story("a"), "claimed granted released");
    EXPECT_EQ(seen.count(event_kind::claimed), 2u);
    EXPECT_EQ(seen.count(event_kind::claimed, "a"), 1u);
    EXPECT_EQ(seen.events().size(), 4u);
    seen.clear();
    EXPECT_EQ(seen.count(event_kind::claimed), 0u);
}

TEST(recording_observer, waits_for_what_is_to_come_and_gives_up) {
    recording_observer seen;
    EXPECT_FALSE(seen.wait_for(event_kind::lost, 1, 1ms));
    std::jthread later{[&] {
        seen.on_event({.kind = event_kind::lost});
        seen.on_event({.kind = event_kind::lost});
    }};
    EXPECT_TRUE(seen.wait_for(event_kind::lost, 2));
}

TEST(eventually, is_patient_but_not_for_ever) {
    int asked = 0;
    EXPECT_TRUE(eventually([&] { return ++asked == 3; }));
    EXPECT_EQ(asked, 3);
    EXPECT_FALSE(eventually([] { return false; }, 1ms));
}

TEST(scale, follows_the_environment) {
    const char* given = std::getenv("MORTISE_STORM_SCALE");
    const std::string before = given != nullptr ? given : "";
    auto scaled_by = [](const char* factor, std::uint64_t n) {
        setenv("MORTISE_STORM_SCALE", factor, 1);
        return scale(n);
    };
    EXPECT_EQ(scaled_by("0.5", 1000), 500u);
    EXPECT_EQ(scaled_by("3", 1000), 3000u);
    EXPECT_EQ(scaled_by("0.0001", 1000), 1u);
    EXPECT_EQ(scaled_by("0", 1000), 1000u);
    EXPECT_EQ(scaled_by("-1", 1000), 1000u);
    EXPECT_EQ(scaled_by("many", 1000), 1000u);
    unsetenv("MORTISE_STORM_SCALE");
    EXPECT_EQ(scale(1000), 1000u);
    if (given != nullptr) setenv("MORTISE_STORM_SCALE", before.c_str(), 1);
}

TEST(memory_use, sees_a_large_block) {
    constexpr std::size_t size = std::size_t{64} << 20;
    const std::size_t resident = resident_bytes();
    EXPECT_GT(resident, 0u);
    std::vector<char> block(size, 'x');
    EXPECT_GT(resident_bytes(), resident + size / 2);
    EXPECT_EQ(block.back(), 'x');
}

}  // namespace
}  // namespace mortise::testing
