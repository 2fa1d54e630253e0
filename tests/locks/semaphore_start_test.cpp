// Permits without a thread that waits.
#include "locks/starting.hpp"

#include <mortise/counting_semaphore.hpp>
#include <mortise/error.hpp>

#include <optional>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

using semaphore_start = starting;

TEST_F(semaphore_start, waits_without_a_thread_and_gets_what_it_asked_for) {
    counting_semaphore pool{mine.locks, "pool", 5};
    hold most = pool.acquire(4);
    pending<attempt> two;
    pool.start(2, {}, two.taker());
    world.settle();
    EXPECT_EQ(two.answers(), 0);
    most.release();
    EXPECT_EQ(two.answers(), 0) << "not on this thread";
    world.settle();
    ASSERT_TRUE(two.granted());
    EXPECT_FALSE(pool.try_acquire(4));
    EXPECT_TRUE(pool.try_acquire(3));
}

TEST_F(semaphore_start, ends_with_its_wait_or_with_either_stop) {
    std::stop_source of_all;
    counting_semaphore pool{mine.locks, "pool", 1, {.stop = of_all.get_token()}};
    const hold all = pool.acquire();
    pending<attempt> brief;
    pending<attempt> stopped;
    pending<attempt> last;
    pool.start(1, {.wait = 1s}, brief.taker());
    pool.start(1, {.stop = stop.get_token()}, stopped.taker());
    pool.start(1, {}, last.taker());
    EXPECT_EQ(world.waiting("pool"), 3u);
    world.advance(1s);
    EXPECT_EQ(brief.reason(), errc::timed_out);
    stop.request_stop();
    world.settle();
    EXPECT_EQ(stopped.reason(), errc::cancelled);
    EXPECT_EQ(last.answers(), 0) << "it has no part in the other's stop";
    of_all.request_stop();
    world.settle();
    EXPECT_EQ(last.reason(), errc::cancelled);
    EXPECT_EQ(world.waiting("pool"), 0u);
}

TEST_F(semaphore_start, refuses_nonsense_before_it_takes_the_completion) {
    counting_semaphore pool{mine.locks, "pool", 2};
    pending<attempt> never;
    EXPECT_THROW(pool.start(0, {}, never.taker()), error);
    EXPECT_THROW(pool.start(3, {}, never.taker()), error);
    EXPECT_THROW(pool.start(1, {}, nullptr), error);
    EXPECT_THROW(pool.start(1, {.wait = -1s}, never.taker()), error);
    world.settle();
    EXPECT_EQ(never.answers(), 0);
    EXPECT_TRUE(world.empty());
}

TEST_F(semaphore_start, goes_on_without_the_semaphore) {
    std::optional<counting_semaphore> pool{std::in_place, mine.locks, "pool", 1};
    hold all = pool->acquire();
    pending<attempt> next;
    pool->start(1, {.stop = stop.get_token()}, next.taker());
    pool.reset();
    all.release();
    world.settle();
    EXPECT_TRUE(next.granted());
}

}  // namespace
}  // namespace mortise::testing
