// The baselines that `mortise bench` measures a store's locks against.
#include "baseline/registry.hpp"
#include "conformance/suite.hpp"
#include "support/children.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

class baseline_of_store : public store_suite {
protected:
    std::vector<baseline> all(baseline::kind wanted) const {
        std::vector<baseline> found = baselines_of(url()).all;
        std::erase_if(found, [&](const baseline& each) { return each.is != wanted; });
        return found;
    }
};
EVERY_STORE(baseline_of_store);

using kind = baseline::kind;

TEST_P(baseline_of_store, covers_a_lock_and_a_hand_over) {
    EXPECT_FALSE(all(kind::lock).empty() && all(kind::round_trip).empty());
    EXPECT_FALSE(all(kind::ping_pong).empty());
    const bool served = url().find("://") != std::string::npos;
    EXPECT_EQ(all(kind::trip).size(), served ? 1U : 0U);
    std::set<std::string> names;
    for (const baseline& each : baselines_of(url()).all) {
        EXPECT_FALSE(each.name.empty());
        EXPECT_TRUE(names.insert(each.name).second) << each.name << " twice";
    }
}

TEST_P(baseline_of_store, of_kind_lock_excludes) {
    constexpr int threads = 4;
    constexpr int times = 200;
    for (const baseline& each : all(kind::lock)) {
        std::atomic<int> inside{0};
        std::atomic<int> overlaps{0};
        std::atomic<int> done{0};
        {
            std::vector<std::jthread> crowd;
            for (int i = 0; i < threads; ++i)
                crowd.emplace_back([&] {
                    const auto mine = each.open("exclude", 0);
                    for (int n = 0; n < times; ++n) {
                        mine->lock();
                        overlaps += inside.fetch_add(1) != 0;
                        std::this_thread::yield();
                        --inside;
                        ++done;
                        mine->unlock();
                    }
                });
        }
        each.clear("exclude");
        EXPECT_EQ(overlaps, 0) << each.name;
        EXPECT_EQ(done, threads * times) << each.name;
    }
}

TEST_P(baseline_of_store, at_two_places_does_not_meet) {
    for (const baseline& each : all(kind::lock)) {
        const auto here = each.open("here", 0);
        here->lock();
        std::jthread{[&] {
            const auto there = each.open("there", 0);
            there->lock();
            there->unlock();
        }}.join();
        here->unlock();
        each.clear("here");
        each.clear("there");
    }
}

TEST_P(baseline_of_store, of_kind_round_trip_trip_or_commit_answers_everybody) {
    for (const kind which : {kind::round_trip, kind::trip, kind::commit})
        for (const baseline& each : all(which)) {
            const auto one = each.open("round-trip", 0);
            const auto other = each.open("round-trip", 0);
            one->lock();
            other->lock();
            other->unlock();
            one->unlock();
            each.clear("round-trip");
        }
}

TEST_P(baseline_of_store, of_kind_ping_pong_alternates) {
    for (const baseline& each : all(kind::ping_pong)) {
        std::atomic<int> turn{0};
        std::atomic<int> out_of_turn{0};
        const auto play = [&](unsigned side) {
            const auto mine = each.open("ping-pong", side);
            for (unsigned n = 0; n < 100; ++n) {
                mine->lock();
                out_of_turn += turn.fetch_add(1) != static_cast<int>(2 * n + side);
                mine->unlock();
            }
        };
        {
            const std::jthread second{play, 1};
            const std::jthread first{play, 0};
        }
        each.clear("ping-pong");
        EXPECT_EQ(turn, 200) << each.name;
        EXPECT_EQ(out_of_turn, 0) << each.name;
    }
}

TEST_P(baseline_of_store, of_kind_ping_pong_does_not_block_the_last_end) {
    for (const baseline& each : all(kind::ping_pong)) {
        auto gone = each.open("alone", 0);
        const auto left = each.open("alone", 1);
        gone.reset();
        for (int n = 0; n < 3; ++n) {
            left->lock();
            left->unlock();
        }
        each.clear("alone");
    }
}

TEST_P(baseline_of_store, reaches_as_far_as_the_store) {
    ASSERT_EQ(make_client().promises().processes, GetParam().store->spans_processes());
    if (!GetParam().store->spans_processes()) return;
    for (const baseline& each : all(kind::ping_pong)) {
        child other{[&] {
            const auto mine = each.open("far", 1);
            mine->lock();
            mine->unlock();
            return 0;
        }};
        const auto mine = each.open("far", 0);
        mine->lock();
        mine->unlock();
        mine->lock();
        EXPECT_EQ(other.wait(), 0) << each.name;
        each.clear("far");
    }
}

TEST_P(baseline_of_store, refuses_places_that_are_no_words) {
    for (const baseline& each : baselines_of(url()).all)
        for (const std::string& place : {std::string{}, std::string{"../x"}, std::string{"a b"}, std::string(101, 'x')})
            try {
                each.open(place, 0);
                ADD_FAILURE() << each.name << " took '" << place << "'";
            } catch (const error& e) {
                EXPECT_EQ(e.code(), errc::invalid_name) << e.what();
            }
}

TEST_P(baseline_of_store, usage_never_goes_back) {
    const baselines found = baselines_of(url());
    const store_usage before = found.usage();
    {
        client busy = make_client();
        for (int n = 0; n < 10; ++n) static_cast<void>(busy.acquire("usage"));
    }
    store_usage after = found.usage();
    EXPECT_EQ(before.commands.has_value(), after.commands.has_value());
    if (before.commands) {
        // PostgreSQL counts what a connection did when that has ended, which it notices after the client. Looking is counted too.
        unsigned looks = 0;
        for (; looks < 5 && *after.commands < *before.commands + 20 + looks; ++looks) {
            std::this_thread::sleep_for(std::chrono::milliseconds{200});
            after = found.usage();
        }
        EXPECT_GE(*after.commands, *before.commands + 20 + looks);
    }
    EXPECT_GE(after.processor, before.processor);
}

TEST(baselines, of_a_store_without_any_are_empty) {
    const baselines none = baselines_of("unheard-of:");
    EXPECT_TRUE(none.all.empty());
    EXPECT_FALSE(none.usage().commands || none.usage().processor || none.usage().memory);
    EXPECT_THROW(baselines_of("no address"), error);
}

}  // namespace
}  // namespace mortise::testing
