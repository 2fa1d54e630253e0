// Several names without a thread that waits: all or none, and nothing stays behind.
#include "locks/starting.hpp"

#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class several_start : public starting {
protected:
    multi_lock both{mine.locks, {"a", "b"}};
};

TEST_F(several_start, takes_all_or_none) {
    hold b = other.locks.acquire("b");
    pending<multi_attempt> got;
    both.start({}, got.taker());
    world.settle();
    EXPECT_EQ(got.answers(), 0);
    EXPECT_FALSE(world.free("a")) << "taken while it waits for the other";
    b.release();
    world.settle();
    ASSERT_TRUE(got.granted());
    EXPECT_TRUE((*got)->valid());
    EXPECT_EQ((*got)->holds().size(), 2u);

    pending<multi_attempt> brief;
    multi_lock theirs{other.locks, {"c", "b"}};
    theirs.start({.wait = 1s}, brief.taker());
    world.advance(1s);
    EXPECT_EQ(brief.reason(), errc::timed_out);
    EXPECT_EQ(brief->in_the_way(), "b");
    EXPECT_TRUE(world.free("c"));
}

TEST_F(several_start, gives_back_before_it_answers) {
    const hold b = other.locks.acquire("b");
    bool free_when_told = false;
    std::error_code why;
    both.start({.stop = stop.get_token()}, [&](multi_attempt got) {
        why = got.reason();
        free_when_told = world.free("a");
    });
    world.settle();
    stop.request_stop();
    world.settle();
    EXPECT_EQ(why, errc::cancelled);
    EXPECT_TRUE(free_when_told);
    EXPECT_EQ(world.waiting("b"), 0u);
}

TEST_F(several_start, a_loss_during_the_wait_ends_it) {
    const hold b = other.locks.acquire("b");
    pending<multi_attempt> got;
    both.start({}, got.taker());
    world.settle();
    const auto held = world.table().list();
    const auto a = std::find_if(held.begin(), held.end(), [](const auto& one) { return one.name == "a"; });
    ASSERT_NE(a, held.end());
    ASSERT_TRUE(world.table().break_hold("a", a->holder.token.counter()));
    world.settle();
    EXPECT_EQ(got.reason(), errc::lost);
    EXPECT_EQ(got->in_the_way(), "a");
    EXPECT_EQ(world.waiting("b"), 0u);
}

TEST_F(several_start, crossed_callers_take_turns) {
    multi_lock crossed{other.locks, {"b", "a"}};
    std::vector<pending<multi_attempt>> calls(10);
    for (std::size_t i = 0; i < calls.size(); ++i) (i % 2 == 0 ? both : crossed).start({}, calls[i].taker());
    for (std::size_t turns = 0; turns < calls.size(); ++turns) {
        world.settle();
        const auto now = std::find_if(calls.begin(), calls.end(), [](const auto& one) { return one.granted(); });
        ASSERT_NE(now, calls.end()) << "nobody has them, and nobody gets them";
        EXPECT_EQ(std::count_if(calls.begin(), calls.end(), [](const auto& one) { return one.granted(); }), 1);
        now->forget();
    }
    EXPECT_TRUE(world.empty());
}

TEST_F(several_start, is_answered_when_a_client_ends) {
    std::optional<member> brief = world.join();
    const hold b = other.locks.acquire("b");
    pending<multi_attempt> got;
    {
        multi_lock gone{brief->locks, {"a", "b"}};
        gone.start({}, got.taker());
    }
    world.settle();
    brief.reset();
    world.settle();
    EXPECT_EQ(got.answers(), 1);
    EXPECT_EQ(got.reason(), errc::closed);
    EXPECT_TRUE(world.free("a"));
}

TEST_F(several_start, releases_without_waiting) {
    multi_hold all = both.acquire();
    std::optional<release_result> said;
    all.start_release([&](release_result result, std::error_code) { said = result; });
    EXPECT_FALSE(all);
    EXPECT_FALSE(said);
    world.settle();
    EXPECT_EQ(said, release_result::released);
    EXPECT_TRUE(world.empty());
}

}  // namespace
}  // namespace mortise::testing
