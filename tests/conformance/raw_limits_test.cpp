// The bare primitives that a store's locks are measured beside.
#include "conformance/suite.hpp"
#include "support/children.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <set>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

class limits : public store_suite {
protected:
    // Those of a kind, by a client that is gone before they are used.
    std::vector<raw_limit> all(raw_limit::kind wanted) const {
        std::vector<raw_limit> found = make_client().raw_limits().all;
        std::erase_if(found, [&](const raw_limit& each) { return each.is != wanted; });
        return found;
    }
};
EVERY_STORE(limits);

using kind = raw_limit::kind;

TEST_P(limits, cover_what_a_lock_and_what_a_hand_over_is_compared_with) {
    EXPECT_FALSE(all(kind::lock).empty() && all(kind::trips).empty());
    EXPECT_FALSE(all(kind::turns).empty());
    std::set<std::string> names;
    for (const raw_limit& each : make_client().raw_limits().all) {
        EXPECT_FALSE(each.name.empty());
        EXPECT_TRUE(names.insert(each.name).second) << each.name << " twice";
    }
}

TEST_P(limits, of_locks_exclude) {
    constexpr int threads = 4;
    constexpr int times = 200;
    for (const raw_limit& each : all(kind::lock)) {
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

TEST_P(limits, at_two_places_do_not_meet) {
    for (const raw_limit& each : all(kind::lock)) {
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

TEST_P(limits, of_trips_answer_everybody) {
    for (const raw_limit& each : all(kind::trips)) {
        const auto one = each.open("trips", 0);
        const auto other = each.open("trips", 0);
        one->lock();
        other->lock();
        other->unlock();
        one->unlock();
        each.clear("trips");
    }
}

TEST_P(limits, of_turns_alternate) {
    for (const raw_limit& each : all(kind::turns)) {
        std::atomic<int> turn{0};
        std::atomic<int> out_of_turn{0};
        const auto play = [&](unsigned side) {
            const auto mine = each.open("turns", side);
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
        each.clear("turns");
        EXPECT_EQ(turn, 200) << each.name;
        EXPECT_EQ(out_of_turn, 0) << each.name;
    }
}

TEST_P(limits, of_turns_do_not_keep_who_is_left_alone) {
    for (const raw_limit& each : all(kind::turns)) {
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

TEST_P(limits, reach_as_far_as_the_store) {
    ASSERT_EQ(make_client().promises().processes, GetParam().store->spans_processes());
    if (!GetParam().store->spans_processes()) return;
    for (const raw_limit& each : all(kind::turns)) {
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

TEST_P(limits, refuse_places_that_are_no_words) {
    for (const raw_limit& each : make_client().raw_limits().all)
        for (const std::string& place : {std::string{}, std::string{"../x"}, std::string{"a b"}, std::string(101, 'x')})
            try {
                each.open(place, 0);
                ADD_FAILURE() << each.name << " took '" << place << "'";
            } catch (const error& e) {
                EXPECT_EQ(e.code(), errc::invalid_name) << e.what();
            }
}

TEST_P(limits, usage_never_goes_back) {
    const client locks = make_client();
    const raw_limits bare = locks.raw_limits();
    const store_usage before = bare.usage();
    {
        client busy = make_client();
        for (int n = 0; n < 10; ++n) static_cast<void>(busy.acquire("usage"));
    }
    const store_usage after = bare.usage();
    EXPECT_EQ(before.commands.has_value(), after.commands.has_value());
    if (before.commands) {
        EXPECT_GE(*after.commands, *before.commands + 20);
    }
    EXPECT_GE(after.processor, before.processor);
}

}  // namespace
}  // namespace mortise::testing
