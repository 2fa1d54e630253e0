// Handles of a shared_mutex, which belong to no thread: reading, writing, up and down, with one answer each.
#include "locks/starting.hpp"

#include <mortise/error.hpp>
#include <mortise/shared_mutex.hpp>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class shared_start : public starting {
protected:
    shared_mutex config{mine.locks, "config"};
    shared_mutex theirs{other.locks, "config"};
};

TEST_F(shared_start, handles_exclude_each_other_as_threads_do) {
    const hold one = config.acquire_shared();
    const hold two = config.acquire_upgradeable();
    EXPECT_TRUE(theirs.try_acquire_shared());
    EXPECT_EQ(theirs.try_acquire_upgradeable().reason(), errc::busy);
    EXPECT_EQ(theirs.try_acquire().reason(), errc::busy);
    pending<attempt> writing;
    pending<attempt> reading;
    theirs.start({}, writing.taker());
    theirs.start_shared({}, reading.taker());
    world.settle();
    EXPECT_EQ(writing.answers() + reading.answers(), 0) << "a reader does not overtake a writer";
}

TEST_F(shared_start, each_way_is_granted_in_turn) {
    hold writing = config.acquire();
    pending<attempt> reads;
    pending<attempt> may_write;
    pending<attempt> writes;
    theirs.start_shared({}, reads.taker());
    theirs.start_upgradeable({}, may_write.taker());
    theirs.start({}, writes.taker());
    writing.release();
    world.settle();
    ASSERT_TRUE(reads.granted() && may_write.granted());
    EXPECT_EQ(writes.answers(), 0);
    reads.forget();
    may_write.forget();
    world.settle();
    EXPECT_TRUE(writes.granted());
}

TEST_F(shared_start, an_upgrade_waits_for_the_readers_inside_and_takes_the_place_of_the_read) {
    hold mine_first = config.acquire_upgradeable();
    hold reading = theirs.acquire_shared();
    pending<attempt> up;
    pending<attempt> later;
    config.start_upgrade(mine_first, {}, up.taker());
    theirs.start_shared({}, later.taker());
    world.settle();
    EXPECT_EQ(up.answers() + later.answers(), 0);
    EXPECT_TRUE(mine_first.valid());
    const token before = mine_first.token();
    reading.release();
    world.settle();
    ASSERT_TRUE(up.granted());
    EXPECT_FALSE(mine_first) << "its place was taken";
    EXPECT_GT((*up)->token(), before);
    mine_first = hold{};
    EXPECT_TRUE((*up)->valid());
    EXPECT_EQ(later.answers(), 0);

    pending<attempt> down;
    config.start_downgrade(**up, down.taker());
    world.settle();
    ASSERT_TRUE(down.granted());
    EXPECT_TRUE(later.granted()) << "readers fit beside it";
    pending<attempt> further;
    config.start_downgrade_to_shared(**down, further.taker());
    world.settle();
    ASSERT_TRUE(further.granted());
    EXPECT_TRUE(theirs.try_acquire_upgradeable());
}

TEST_F(shared_start, a_handle_goes_up_and_down_in_place) {
    hold one = config.acquire_upgradeable();
    one = config.upgrade(one);
    EXPECT_EQ(theirs.try_acquire_shared().reason(), errc::busy);
    one = config.downgrade(one);
    EXPECT_TRUE(theirs.try_acquire_shared());
    one = config.downgrade_to_shared(one);
    EXPECT_TRUE(theirs.try_acquire_upgradeable());
    EXPECT_TRUE(one.valid());
}

TEST_F(shared_start, an_upgrade_that_ends_early_leaves_the_read_as_it_was) {
    const hold mine_first = config.acquire_upgradeable();
    const hold reading = theirs.acquire_shared();
    EXPECT_EQ(config.try_upgrade(mine_first).reason(), errc::busy);
    pending<attempt> up;
    config.start_upgrade(mine_first, {.stop = stop.get_token()}, up.taker());
    stop.request_stop();
    world.settle();
    EXPECT_EQ(up.reason(), errc::cancelled);
    pending<attempt> brief;
    config.start_upgrade(mine_first, {.wait = 1s}, brief.taker());
    world.advance(1s);
    EXPECT_EQ(brief.reason(), errc::timed_out);
    world.advance(1min);
    EXPECT_TRUE(mine_first.valid());
    EXPECT_EQ(world.waiting("config"), 0u);
}

TEST_F(shared_start, misuse_has_a_name) {
    shared_mutex elsewhere{mine.locks, "elsewhere"};
    const hold reading = config.acquire_shared();
    const hold upgradeable = config.acquire_upgradeable();
    const hold foreign = theirs.acquire_shared();
    hold left = elsewhere.acquire_upgradeable();
    const hold plain = mine.locks.acquire("plain");
    shared_mutex not_shared{mine.locks, "plain"};
    const hold empty;

    EXPECT_EQ(config.try_upgrade(reading).reason(), errc::would_deadlock);
    EXPECT_EQ(config.try_upgrade(foreign).reason(), errc::not_owner);
    EXPECT_EQ(config.try_upgrade(left).reason(), errc::not_owner);
    EXPECT_EQ(config.try_upgrade(empty).reason(), errc::not_owner);
    EXPECT_EQ(not_shared.try_upgrade(plain).reason(), errc::kind_mismatch);
    EXPECT_THROW(static_cast<void>(config.downgrade(reading)), error);
    EXPECT_THROW(static_cast<void>(config.downgrade_to_shared(reading)), error);
    left.release();
    EXPECT_EQ(elsewhere.try_upgrade(left).reason(), errc::not_owner);

    pending<attempt> no;
    config.start_upgrade(reading, {}, no.taker());
    EXPECT_EQ(no.answers(), 0);
    world.settle();
    EXPECT_EQ(no.reason(), errc::would_deadlock);
    EXPECT_THROW(config.start_upgrade(upgradeable, {}, nullptr), error);

    pending<attempt> first;
    config.start_upgrade(upgradeable, {}, first.taker());
    EXPECT_EQ(config.try_upgrade(upgradeable).reason(), errc::would_deadlock) << "one step at a time";
    EXPECT_TRUE(upgradeable.valid());
}

TEST_F(shared_start, a_read_that_is_released_or_lost_meanwhile_ends_its_upgrade) {
    hold mine_first = config.acquire_upgradeable();
    const hold reading = theirs.acquire_shared();
    pending<attempt> up;
    config.start_upgrade(mine_first, {}, up.taker());
    mine_first.release();
    world.settle();
    EXPECT_EQ(up.reason(), errc::lost);

    const hold again = config.acquire_upgradeable();
    pending<attempt> broken;
    config.start_upgrade(again, {}, broken.taker());
    ASSERT_TRUE(world.table().break_hold("config", again.token().counter()));
    world.settle();
    EXPECT_EQ(broken.reason(), errc::lost);
    EXPECT_EQ(world.waiting("config"), 0u);
}

TEST_F(shared_start, an_upgrade_cancelled_after_the_store_granted_it_is_granted) {
    const hold mine_first = config.acquire_upgradeable();
    hold reading = theirs.acquire_shared();
    pending<attempt> up;
    config.start_upgrade(mine_first, {.stop = stop.get_token()}, up.taker());
    mine.net->lose_pushes();
    reading.release();  // granted, but nobody here knows
    EXPECT_EQ(up.answers(), 0);
    stop.request_stop();
    world.settle();
    ASSERT_TRUE(up.granted()) << "it came first, and the read is gone: to say no would leave the caller with neither";
    EXPECT_TRUE((*up)->valid());
    EXPECT_FALSE(mine_first.valid());
    up.forget();
    EXPECT_TRUE(world.empty());
}

TEST_F(shared_start, an_upgrade_cancelled_before_leaves_the_read_as_it_was) {
    const hold mine_first = config.acquire_upgradeable();
    const hold reading = theirs.acquire_shared();
    pending<attempt> up;
    config.start_upgrade(mine_first, {.stop = stop.get_token()}, up.taker());
    stop.request_stop();
    world.settle();
    EXPECT_EQ(up.reason(), errc::cancelled);
    EXPECT_TRUE(mine_first.valid());
    EXPECT_FALSE(mine_first.lost().stop_requested());
    EXPECT_EQ(world.waiting("config"), 0u);
}

TEST_F(shared_start, an_upgrade_cancelled_on_a_store_that_has_gone_silent_is_answered_all_the_same) {
    const hold mine_first = config.acquire_upgradeable();
    const hold reading = theirs.acquire_shared();
    pending<attempt> up;
    config.start_upgrade(mine_first, {.stop = stop.get_token()}, up.taker());
    mine.net->freeze();
    stop.request_stop();
    world.advance(15s);
    EXPECT_EQ(up.answers(), 1);
    EXPECT_FALSE(up.granted());
}

TEST_F(shared_start, a_write_is_not_handed_over_while_it_becomes_a_read) {
    hold writing = config.acquire();
    pending<attempt> next;
    config.start({}, next.taker());
    mine.net->delay(verb::claim, 1s, 1s);
    pending<attempt> down;
    config.start_downgrade_to_shared(writing, down.taker());
    writing.release();
    world.advance(5s);
    EXPECT_EQ(down.answers(), 1);
    if (next.granted()) {
        EXPECT_TRUE((*next)->valid());
        EXPECT_FALSE(down.granted() && (*down)->valid());
    }
    down.forget();
    world.advance(5s);
    ASSERT_TRUE(next.granted());
    EXPECT_TRUE((*next)->valid());
}

}  // namespace
}  // namespace mortise::testing
