// A hold that is lost: who notices, when, and what it costs.
#include "fleet.hpp"

#include <mortise/error.hpp>
#include <mortise/fenced.hpp>
#include <mortise/mutex.hpp>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class loss : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
    member other = world.join();
};

TEST_F(loss, a_hold_behind_a_frozen_store_is_valid_until_its_deadline_and_not_one_tick_longer) {
    const hold held = mine.locks.acquire("job");
    const auto deadline = held.valid_until();
    EXPECT_EQ(deadline, world.clock().now() + 30s - 302ms);  // 1 % and 2 ms early
    mine.net->freeze();

    world.advance(deadline - world.clock().now() - 1ns);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.remaining(), 1ns);
    world.advance(1ns);
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.remaining(), 0ns);
    EXPECT_EQ(held.valid_until(), boot_clock::time_point::min());
}

TEST_F(loss, after_a_pause_valid_is_false_before_any_timer_has_run) {
    const hold held = mine.locks.acquire("job");
    world.clock().jump(held.remaining() - 1ns);
    EXPECT_TRUE(held.valid());
    world.clock().jump(1ns);
    EXPECT_FALSE(held.valid());
    EXPECT_FALSE(held.lost().stop_requested());  // best effort: nobody has been scheduled yet
    world.settle();
    EXPECT_TRUE(held.lost().stop_requested());
}

TEST_F(loss, the_observer_sees_it_at_risk_and_then_lost) {
    const hold held = mine.locks.acquire("job");
    mine.net->freeze();
    world.advance(1min);

    EXPECT_EQ(mine.seen->story("job"), "claimed granted at risk lost");
    const auto events = mine.seen->events("job");
    EXPECT_EQ(events[2].reason, errc::unreachable);
    EXPECT_GT(events[2].took, 0s);  // time left
    EXPECT_EQ(events[3].reason, errc::unreachable);
    EXPECT_EQ(events[3].token, held.token());
    EXPECT_EQ(events[3].at, sim_clock::default_start + 30s - 302ms);
}

TEST_F(loss, the_owner_is_told_by_stop_token_and_by_callback_once) {
    hold held = mine.locks.acquire("job");
    const std::stop_token lost = held.lost();
    int told = 0;
    held.on_lost([&] { ++told; });
    mine.net->freeze();

    world.advance(29s);
    EXPECT_FALSE(lost.stop_requested());
    EXPECT_EQ(told, 0);
    world.advance(1s);
    EXPECT_TRUE(lost.stop_requested());
    EXPECT_EQ(told, 1);

    held.on_lost([&] { told += 10; });  // too late to wait for: called at once
    world.settle();
    EXPECT_EQ(told, 11);
}

TEST_F(loss, a_release_in_time_tells_nobody_of_a_loss) {
    hold held = mine.locks.acquire("job");
    const std::stop_token lost = held.lost();
    int told = 0;
    held.on_lost([&] { ++told; });
    EXPECT_EQ(held.release(), release_result::released);
    world.advance(5min);
    EXPECT_FALSE(lost.stop_requested());
    EXPECT_EQ(told, 0);
}

TEST_F(loss, the_successor_gets_the_lock_after_the_lease_with_a_larger_token) {
    const hold held = mine.locks.acquire("job");
    mine.net->freeze();
    call next(other.locks, "job");

    world.advance(30s - 1ns);
    EXPECT_FALSE(held.valid());  // the margin: gone here before anybody else may have it
    EXPECT_FALSE(next.answered());
    world.advance(1ns);
    ASSERT_TRUE(next.granted());
    EXPECT_TRUE(next.hold().valid());
    EXPECT_GT(next.hold().token(), held.token());
}

TEST_F(loss, a_fenced_register_refuses_the_late_write) {
    fenced::register_of<int> stock{10};
    const hold slow = mine.locks.acquire("stock");
    ASSERT_TRUE(slow.valid());
    ASSERT_TRUE(stock.seal(slow.token()));
    const auto seen = stock.read(slow.token());
    world.clock().jump(31s);  // paused between its read and its write

    const hold fast = other.locks.acquire("stock");
    ASSERT_TRUE(stock.seal(fast.token()));
    const auto then = stock.read(fast.token());
    EXPECT_FALSE(stock.write(slow.token(), *seen - 1));  // the late write, between read and write of the new holder
    EXPECT_TRUE(stock.write(fast.token(), *then - 1));
    EXPECT_FALSE(stock.write(slow.token(), *seen - 1));
    EXPECT_EQ(stock.peek(), 9);  // one sale that was told yes, one off the stock
}

// The fence most people build: it refuses old tokens on writes, and trusts reads.
class write_checked_register {
public:
    explicit write_checked_register(int initial) : value_(initial) {}
    int read() const { return value_; }
    bool write(token mine, int value) {
        if (mine < newest_) return false;
        newest_ = mine;
        value_ = value;
        return true;
    }

private:
    token newest_{};
    int value_;
};

TEST_F(loss, the_same_story_without_sealing_loses_an_update) {
    write_checked_register stock{10};
    const hold slow = mine.locks.acquire("stock");
    const int seen = stock.read();
    world.clock().jump(31s);

    const hold fast = other.locks.acquire("stock");
    const int then = stock.read();
    EXPECT_TRUE(stock.write(slow.token(), seen - 1));  // accepted: nobody newer has written yet
    EXPECT_TRUE(stock.write(fast.token(), then - 1));  // and overwritten unseen
    EXPECT_EQ(stock.read(), 9);                        // two sales told yes, one off the stock
}

TEST_F(loss, a_renewal_that_fails_five_times_and_then_succeeds_keeps_the_hold) {
    const hold held = mine.locks.acquire("job");
    const token before = held.token();
    mine.net->fail(verb::renew, 5);
    world.advance(2min);

    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.token(), before);
    EXPECT_FALSE(held.lost().stop_requested());
    EXPECT_EQ(mine.seen->count(event_kind::at_risk, "job"), 1u);
    EXPECT_EQ(mine.seen->count(event_kind::lost, "job"), 0u);
    EXPECT_GE(mine.seen->count(event_kind::renewed, "job"), 1u);
    EXPECT_FALSE(world.free("job"));
}

TEST_F(loss, a_renewal_that_fails_for_ever_loses_exactly_this_hold) {
    const hold unlucky = mine.locks.acquire("unlucky");
    const hold lucky = mine.locks.acquire("lucky");
    const hold late = mine.locks.acquire("late", {.lease = 10s});
    mine.net->fail_renewals_of("unlucky");
    world.advance(2min);

    EXPECT_FALSE(unlucky.valid());
    EXPECT_TRUE(unlucky.lost().stop_requested());
    EXPECT_TRUE(lucky.valid());
    EXPECT_TRUE(late.valid());
    EXPECT_EQ(mine.seen->count(event_kind::lost), 1u);
    EXPECT_EQ(mine.seen->count(event_kind::at_risk), 1u);
    EXPECT_TRUE(world.free("unlucky"));
    EXPECT_FALSE(world.free("lucky"));
}

TEST_F(loss, a_slow_callback_delays_no_other_renewal) {
    hold doomed = mine.locks.acquire("doomed", {.lease = 3s});
    const hold other_hold = mine.locks.acquire("other");
    bool begun = false;
    doomed.on_lost([&] {
        begun = true;
        world.clock().advance(10min);  // the callback takes ten minutes, in which timers run and no callback can
        EXPECT_TRUE(other_hold.valid());
    });
    mine.net->fail_renewals_of("doomed");
    world.advance(4s);
    EXPECT_TRUE(begun);
    EXPECT_TRUE(other_hold.valid());
}

TEST_F(loss, a_notifier_that_is_stuck_delays_no_renewal_and_no_truth) {
    hold doomed = mine.locks.acquire("doomed", {.lease = 3s});
    const hold other_hold = mine.locks.acquire("other");
    int told = 0;
    doomed.on_lost([&] { ++told; });
    mine.net->fail_renewals_of("doomed");

    world.clock().advance(10min);  // timers only: no callback runs
    EXPECT_FALSE(doomed.valid());
    EXPECT_EQ(told, 0);
    EXPECT_TRUE(other_hold.valid());
    world.settle();
    EXPECT_EQ(told, 1);
}

TEST_F(loss, a_broken_hold_is_told_at_once) {
    hold held = mine.locks.acquire("job");
    call next(other.locks, "job");
    world.settle();
    int told = 0;
    held.on_lost([&] { ++told; });

    EXPECT_TRUE(world.table().break_hold("job", held.token().counter()));
    EXPECT_FALSE(held.valid());
    world.settle();
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(held.lost().stop_requested());
    EXPECT_EQ(mine.seen->events("job").back().reason, errc::lost);
    ASSERT_TRUE(next.granted());
    EXPECT_GT(next.hold().token(), held.token());
    EXPECT_EQ(held.release(), release_result::taken_over);
}

TEST_F(loss, a_renewal_answered_lost_ends_the_hold_at_once) {
    hold held = mine.locks.acquire("job");
    mine.net->lose_pushes(fault_plan::for_ever);
    ASSERT_TRUE(world.table().break_hold("job", held.token().counter()));
    EXPECT_TRUE(held.valid());  // nobody could tell us
    world.advance(10s);         // the next renewal hears of it
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(mine.seen->count(event_kind::lost, "job"), 1u);
    EXPECT_EQ(held.release(), release_result::expired);
}

TEST_F(loss, release_after_loss_answers_expired_or_who_took_over_and_repeats_itself) {
    hold first = mine.locks.acquire("job");
    world.clock().jump(31s);
    EXPECT_EQ(first.release(), release_result::expired);
    EXPECT_EQ(first.release(), release_result::expired);

    hold second = mine.locks.acquire("job");
    world.clock().jump(31s);
    const hold usurper = other.locks.acquire("job");
    EXPECT_EQ(second.release(), release_result::taken_over);
    EXPECT_EQ(second.release(), release_result::taken_over);
    EXPECT_TRUE(usurper.valid());
    world.settle();
    EXPECT_EQ(mine.seen->events("job").back().kind, event_kind::released);
    EXPECT_EQ(mine.seen->events("job").back().reason, errc::lost);
}

TEST_F(loss, a_release_within_the_margin_is_not_called_released) {
    hold held = mine.locks.acquire("job", {.renew = renew::off});
    world.clock().jump(30s - 1ms);  // over for its owner, though not yet for the store
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.release(), release_result::expired);
    EXPECT_TRUE(world.free("job"));
}

TEST_F(loss, waiters_behind_a_lost_local_holder_go_on) {
    const hold held = mine.locks.acquire("job");
    call second(mine.locks, "job");
    call third(mine.locks, "job");
    mine.net->fail_renewals_of("job", 8);
    world.advance(31s);

    EXPECT_FALSE(held.valid());
    ASSERT_TRUE(second.granted());
    EXPECT_TRUE(second.hold().valid());
    EXPECT_GT(second.hold().token().counter(), held.token().counter());
    EXPECT_FALSE(third.answered());
    EXPECT_EQ(second.hold().release(), release_result::released);
    world.settle();
    EXPECT_TRUE(third.granted());
}

TEST_F(loss, a_lost_std_guarded_lock_is_told_to_the_observer) {
    mortise::mutex door(mine.locks, "door");
    door.lock();
    mine.net->freeze();
    world.advance(1min);
    EXPECT_FALSE(door.hold().valid());
    EXPECT_EQ(mine.seen->count(event_kind::lost, "door"), 1u);
    mine.net->thaw();
    std::error_code ec;
    door.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
}

}  // namespace
}  // namespace mortise::testing
