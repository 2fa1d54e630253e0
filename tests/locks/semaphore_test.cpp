// Permits on simulated time: what becomes of them when something goes wrong.
#include "core/fleet.hpp"
#include "support/children.hpp"
#include "support/modest_store.hpp"

#include <mortise/counting_semaphore.hpp>
#include <mortise/error.hpp>

#include <type_traits>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<counting_semaphore> && !std::is_move_constructible_v<counting_semaphore>);

class permit : public ::testing::Test {
protected:
    // A waiting call, as a semaphore of five would make it.
    static claim of_five(std::uint32_t count) {
        return {.name = "pool", .capacity = 5, .weight = count, .options = {.order = order::fifo}};
    }

    fleet world;
    member mine = world.join();
    member other = world.join();
    counting_semaphore pool{mine.locks, "pool", 5};
    counting_semaphore theirs{other.locks, "pool", 5};
};

TEST_F(permit, each_acquisition_has_a_lease_of_its_own) {
    const hold early = pool.acquire(2);
    world.advance(3s);
    const hold late = pool.acquire(3);
    EXPECT_NE(early.token(), late.token());
    EXPECT_EQ(early.name(), "pool");
    mine.net->fail(verb::renew, fault_plan::for_ever);
    world.advance(early.remaining());
    EXPECT_FALSE(early.valid());
    EXPECT_TRUE(late.valid());
    world.advance(late.remaining());
    EXPECT_FALSE(late.valid());
}

TEST_F(permit, of_a_holder_behind_a_frozen_store_come_back_with_the_lease) {
    const hold stuck = pool.acquire(4);
    const hold fine = theirs.acquire();
    call big(other.locks, of_five(3));
    call small(other.locks, of_five(1));
    mine.net->freeze();
    world.advance(30s - 1ns);
    EXPECT_FALSE(stuck.valid()) << "gone here before anybody else may have them";
    EXPECT_FALSE(big.answered());
    world.advance(1ns);
    EXPECT_TRUE(big.granted());
    EXPECT_TRUE(small.granted());
    EXPECT_TRUE(fine.valid());
    EXPECT_FALSE(theirs.try_acquire());
}

TEST_F(permit, of_a_broken_hold_come_back_at_once_and_its_owner_is_told) {
    const hold unlucky = pool.acquire(2);
    const hold fine = pool.acquire(3);
    const std::stop_token lost = unlucky.lost();
    const std::stop_token kept = fine.lost();
    ASSERT_TRUE(world.table().break_hold("pool", unlucky.token().counter()));
    world.settle();
    EXPECT_FALSE(unlucky.valid());
    EXPECT_TRUE(lost.stop_requested());
    EXPECT_TRUE(fine.valid());
    EXPECT_FALSE(kept.stop_requested());
    EXPECT_TRUE(theirs.try_acquire(2));
}

TEST_F(permit, a_big_request_is_served_before_smaller_ones_that_came_later) {
    hold three = pool.acquire(3);
    call big(mine.locks, of_five(4));
    call small(other.locks, of_five(1));
    call smaller(mine.locks, of_five(1));
    world.settle();
    EXPECT_FALSE(big.answered() || small.answered() || smaller.answered());
    EXPECT_EQ(theirs.try_acquire().refusal().place, 4u);

    three.release();
    world.settle();
    EXPECT_TRUE(big.granted());
    EXPECT_TRUE(small.granted());
    EXPECT_FALSE(smaller.answered());
    big.forget();
    world.settle();
    EXPECT_TRUE(smaller.granted());
}

TEST_F(permit, are_not_handed_over_past_the_queue) {
    // All five make it exclusive, which elsewhere may be handed to a thread of the same process first.
    hold all = pool.acquire(5);
    call theirs_first(other.locks, of_five(5));
    call mine_second(mine.locks, of_five(5));
    world.settle();
    all.release();
    world.settle();
    EXPECT_TRUE(theirs_first.granted());
    EXPECT_FALSE(mine_second.answered());
}

TEST_F(permit, a_wait_that_ends_leaves_nobody_in_line) {
    const hold four = theirs.acquire(4);
    call gives_up(mine.locks, [&] {
        claim wanted = of_five(2);
        wanted.options.wait = 1s;
        return wanted;
    }());
    world.settle();
    EXPECT_EQ(world.waiting("pool"), 1u);
    world.advance(1s);
    EXPECT_EQ(gives_up.reason(), errc::timed_out);
    EXPECT_EQ(world.waiting("pool"), 0u);
    EXPECT_TRUE(pool.try_acquire());
}

TEST_F(permit, the_options_are_those_of_the_claims) {
    counting_semaphore named{mine.locks, "pool", 5, {.wait = 1h, .lease = 7s, .order = order::any, .label = "nightly"}};
    const hold all = named.acquire(5);
    EXPECT_EQ(all.remaining(), 7s - 72ms);
    const attempt refused = theirs.try_acquire();
    ASSERT_FALSE(refused);
    ASSERT_TRUE(refused.refusal().holder);
    EXPECT_EQ(refused.refusal().holder->label, "nightly");
    EXPECT_EQ(named.try_acquire().reason(), errc::busy) << "options.wait does not apply";
    EXPECT_EQ(named.permits(), 5);
    EXPECT_EQ(named.name(), "pool");
}

TEST_F(permit, outlive_their_semaphore_and_answer_closed_after_their_client) {
    hold kept;
    {
        member leaving = world.join();
        counting_semaphore there{leaving.locks, "pool", 5};
        kept = counting_semaphore{leaving.locks, "pool", 5}.acquire(5);
        EXPECT_TRUE(kept.valid());
        { const client gone = std::move(leaving.locks); }
        EXPECT_EQ(there.try_acquire().reason(), errc::closed);
        std::error_code ec;
        EXPECT_FALSE(there.acquire(2, ec));
        EXPECT_EQ(ec, errc::closed);
    }
    EXPECT_FALSE(kept.valid());
    EXPECT_TRUE(pool.try_acquire(5));
}

TEST_F(permit, a_store_that_promises_too_little_is_refused_by_name) {
    const auto said = [&](modest_store::change make_less, std::ptrdiff_t count) -> std::string {
        client less = spi::make_client(modest(spi::factory_of("memory:"), std::move(make_less)), world.sim().world(),
                                       fleet::quick());
        try {
            counting_semaphore{less, "pool", count};
            return "";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::unsupported);
            return e.what();
        }
    };
    const auto unordered = [](mortise::promises& can) { can.fifo = false; };
    const auto exclusive = [](mortise::promises& can) { can.most_capacity = 1; };
    const auto small = [](mortise::promises& can) { can.most_capacity = 100; };
    EXPECT_NE(said(unordered, 1).find("fifo"), std::string::npos);
    EXPECT_EQ(said(exclusive, 1), "");
    EXPECT_NE(said(exclusive, 2).find("capacity of 2"), std::string::npos);
    EXPECT_EQ(said(small, 100), "");
    EXPECT_NE(said(small, 101).find("capacity of 101"), std::string::npos);
}

TEST(permits_after_fork, answer_forked_and_touch_nothing) {
    client locks{"memory:permits-fork"};
    counting_semaphore pool{locks, "pool", 5};
    const hold two = pool.acquire(2);
    child forked{[&] {
        std::error_code ec;
        if (pool.try_acquire().reason() != errc::forked) return 1;
        if (pool.acquire(ec) || ec != errc::forked) return 2;
        if (pool.try_acquire_for(1h).reason() != errc::forked) return 3;
        if (pool.permits() != 5 || two.valid()) return 4;
        return 0;
    }};
    EXPECT_EQ(forked.wait(), 0);
    EXPECT_TRUE(two.valid());
    EXPECT_TRUE(pool.try_acquire(3));
}

}  // namespace
}  // namespace mortise::testing
