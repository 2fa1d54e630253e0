// The guards of the standard library, on every lock of ours.
#include "conformance/suite.hpp"
#include "support/waiting.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

static_assert(timed_lockable<mortise::mutex>);
static_assert(timed_lockable<mortise::recursive_mutex>);
static_assert(timed_lockable<lock_driver>);
static_assert(timed_lockable<std::timed_mutex> && !timed_lockable<std::mutex> && lockable<std::mutex>,
              "the concepts themselves");
static_assert(!std::is_copy_constructible_v<mortise::mutex> && !std::is_move_constructible_v<mortise::mutex>);

class std_guards : public lock_suite {
protected:
    bool is_free(client& others, std::string_view name) const { return make_lock(others, name)->try_lock(); }
};
EVERY_STORE_AND_KIND(std_guards);

TEST_P(std_guards, scoped_lock_holds_for_its_scope) {
    client locks = make_client();
    client others = make_client();
    const auto lock = make_lock(locks, "n");
    {
        std::scoped_lock guard{*lock};
        EXPECT_FALSE(is_free(others, "n"));
    }
    EXPECT_TRUE(gets_what_was_unlocked([&] { return is_free(others, "n"); }));
}

TEST_P(std_guards, unique_lock_defers_tries_waits_and_moves) {
    client locks = make_client();
    client others = make_client();
    const auto lock = make_lock(locks, "n");
    const auto theirs = make_lock(others, "n");

    std::unique_lock deferred{*lock, std::defer_lock};
    EXPECT_FALSE(deferred.owns_lock());
    ASSERT_TRUE(deferred.try_lock());
    EXPECT_FALSE((std::unique_lock{*theirs, std::try_to_lock}.owns_lock()));
    EXPECT_FALSE(answer_to(20ms, [&](auto wait) { return std::unique_lock{*theirs, wait}.owns_lock(); }));
    EXPECT_FALSE(answer_to(20ms, [&](auto wait) {
        return std::unique_lock{*theirs, std::chrono::steady_clock::now() + wait}.owns_lock();
    }));

    std::unique_lock moved = std::move(deferred);
    EXPECT_TRUE(lock->hold().valid());
    moved.unlock();
    // The withdrawals of the waits that were given up may still be on their way, the second one after the first.
    EXPECT_TRUE(eventually([&] { return std::unique_lock{*theirs, std::try_to_lock}.owns_lock(); }));

    lock->lock();
    { std::unique_lock adopted{*lock, std::adopt_lock}; }
    EXPECT_TRUE(eventually([&] { return is_free(others, "n"); }));
}

// std::lock tries and backs off: it cannot deadlock, but many threads at it may dance for long on a lock that serves first
// come, first served. Two are enough to meet in opposite orders.
TEST_P(std_guards, two_names_locked_in_opposite_orders_do_not_deadlock) {
    const std::uint64_t times = rounds(20);
    std::uint64_t plain = 0;
    const auto work = [&](const char* first_name, const char* second_name) {
        client mine = make_client();
        const auto first = make_lock(mine, first_name);
        const auto second = make_lock(mine, second_name);
        for (std::uint64_t i = 0; i < times; ++i) {
            if (i % 2 == 0) {
                std::scoped_lock both{*first, *second};
                ++plain;
            } else {
                std::lock(*first, *second);
                std::lock_guard one{*first, std::adopt_lock};
                std::lock_guard other{*second, std::adopt_lock};
                ++plain;
            }
        }
    };
    {
        client until_both_are_done = make_client();
        std::jthread one{work, "left", "right"};
        std::jthread other{work, "right", "left"};
    }
    EXPECT_EQ(plain, 2 * times);
}

TEST_P(std_guards, a_condition_variable_may_wait_on_it) {
    client locks = make_client();
    const auto lock = make_lock(locks, "n");
    std::condition_variable_any changed;
    int stock = 0;
    std::jthread buyer{[&] {
        const auto mine = make_lock(locks, "n");
        std::unique_lock guard{*mine};
        changed.wait(guard, [&] { return stock > 0; });
        --stock;
    }};
    {
        std::scoped_lock guard{*lock};
        ++stock;
    }
    changed.notify_all();
    buyer.join();
    EXPECT_EQ(stock, 0);
}

}  // namespace
}  // namespace mortise::testing
