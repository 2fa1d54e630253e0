// Upgrades and downgrades that are given up while the store is silent: the old hold is never valid beside somebody whom the
// store let in, and it is lost only if the store has ended it.
#include "fleet.hpp"

#include <mortise/error.hpp>
#include <mortise/shared_mutex.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class exchange : public ::testing::Test {
protected:
    // Shared with the completion: whoever still waits is answered when the client closes, after the answers have gone.
    struct answer {
        std::shared_ptr<std::optional<attempt>> got = std::make_shared<std::optional<attempt>>();
        std::error_code reason() const { return *got ? (*got)->reason() : std::error_code{}; }
        bool granted() const { return *got && **got; }
        bool valid() const { return granted() && (**got)->valid(); }
        client::completion done() const {
            return [into = got](attempt is) { into->emplace(std::move(is)); };
        }
    };

    // Passes time in small steps, and counts those in which `old` was valid though a stranger was inside.
    int overlaps(const hold& old, const answer& stranger, std::chrono::milliseconds during) {
        int found = 0;
        for (auto passed = 0ms; passed < during; passed += 10ms) {
            world.advance(10ms);
            found += old.valid() && stranger.valid();
        }
        return found;
    }

    // Releases and confirmations take their time, so that what happens in between is seen.
    static void slow(fault_plan& net) {
        net.delay(verb::release, 50ms, 200ms);
        net.delay(verb::renew, 50ms, 200ms);
    }

    fleet world;
    member mine = world.join();
    member other = world.join();
    shared_mutex lock{mine.locks, "job"};
    shared_mutex theirs{other.locks, "job"};
    answer mine_is;
    answer theirs_is;
};

TEST_F(exchange, an_upgrade_that_was_made_but_not_heard_of_lets_nobody_in_beside_the_old_hold) {
    const hold old = lock.acquire_upgradeable();
    slow(*mine.net);
    mine.net->lose_replies(verb::claim, fault_plan::for_ever);
    lock.start_upgrade(old, {.wait = 2s}, mine_is.done());
    world.settle();
    theirs.start({}, theirs_is.done());
    EXPECT_EQ(overlaps(old, theirs_is, 5s), 0);
    EXPECT_EQ(mine_is.reason(), errc::unreachable);
    EXPECT_TRUE(theirs_is.granted()) << "nothing stays behind";
    EXPECT_FALSE(old.valid());
    EXPECT_EQ(mine.seen->count(event_kind::lost), 1u);
}

TEST_F(exchange, neither_does_one_given_up_when_patience_is_over) {
    const hold old = lock.acquire_upgradeable();
    slow(*mine.net);
    mine.net->fail_after(verb::claim, fault_plan::for_ever);
    lock.start_upgrade(old, {}, mine_is.done());
    world.settle();
    theirs.start({}, theirs_is.done());
    EXPECT_EQ(overlaps(old, theirs_is, 15s), 0);
    EXPECT_EQ(mine_is.reason(), errc::unreachable);
    EXPECT_TRUE(theirs_is.granted());
    EXPECT_FALSE(old.valid());
}

TEST_F(exchange, nor_one_whose_reply_comes_when_its_lease_is_over) {
    shared_mutex brief{mine.locks, "job", {.lease = 1s}};
    const hold old = brief.acquire_upgradeable();
    mine.net->delay(verb::claim, 0s, 1500ms);
    brief.start_upgrade(old, {}, mine_is.done());
    world.settle();
    theirs.start({}, theirs_is.done());
    EXPECT_EQ(overlaps(old, theirs_is, 5s), 0);
    EXPECT_EQ(mine_is.reason(), errc::lost);
    EXPECT_TRUE(theirs_is.granted());
}

TEST_F(exchange, nor_one_that_arrives_after_its_repeat_was_answered_busy) {
    const hold old = lock.acquire_upgradeable();
    hold reader = theirs.acquire_shared();
    slow(*mine.net);
    mine.net->delay(verb::claim, 2s);
    lock.start_upgrade(old, {.wait = 0s}, mine_is.done());
    mine.net->delay(verb::claim, 0s);
    world.advance(1900ms);
    EXPECT_EQ(mine_is.reason(), errc::busy);
    reader.release();
    theirs.start({}, theirs_is.done());
    EXPECT_EQ(overlaps(old, theirs_is, 10s), 0);
    EXPECT_EQ(old.valid(), !theirs_is.granted());
}

TEST_F(exchange, a_downgrade_that_was_made_but_not_heard_of_lets_nobody_in_beside_the_writer) {
    const hold old = lock.acquire();
    slow(*mine.net);
    mine.net->lose_replies(verb::claim, fault_plan::for_ever);
    lock.start_downgrade_to_shared(old, mine_is.done());
    world.settle();
    theirs.start_shared({}, theirs_is.done());
    EXPECT_EQ(overlaps(old, theirs_is, 15s), 0);
    EXPECT_EQ(mine_is.reason(), errc::unreachable);
    EXPECT_TRUE(theirs_is.granted());
    EXPECT_FALSE(old.valid());
    theirs_is.got->reset();
    EXPECT_TRUE(world.empty());
}

// Not made: whatever happened to the requests, the store still has the old hold.
TEST_F(exchange, that_never_arrived_leaves_the_old_hold_as_it_was) {
    for (const bool up : {true, false}) {
        SCOPED_TRACE(up ? "up" : "down");
        answer is;
        hold old = up ? lock.acquire_upgradeable() : lock.acquire();
        slow(*mine.net);
        mine.net->lose_requests(verb::claim, fault_plan::for_ever);
        if (up)
            lock.start_upgrade(old, {.wait = 2s}, is.done());
        else
            lock.start_downgrade(old, is.done());
        world.advance(15s);
        EXPECT_EQ(is.reason(), errc::unreachable);
        EXPECT_TRUE(old.valid());
        EXPECT_EQ(mine.seen->count(event_kind::lost), 0u);

        mine.net->heal();
        answer again;
        if (up)
            lock.start_upgrade(old, {}, again.done());
        else
            lock.start_downgrade(old, again.done());
        world.advance(1s);
        EXPECT_TRUE(again.granted());
        EXPECT_FALSE(old.valid());
        again.got->reset();
        world.settle();
        EXPECT_TRUE(world.empty());
    }
}

TEST_F(exchange, an_upgrade_given_up_in_a_silence_keeps_the_old_hold_valid_until_its_deadline) {
    const hold old = lock.acquire_upgradeable();
    mine.net->freeze();
    lock.start_upgrade(old, {.wait = 2s}, mine_is.done());
    world.advance(5s);
    EXPECT_EQ(mine_is.reason(), errc::unreachable);
    EXPECT_TRUE(old.valid()) << "the store has the old claim or the new one";
    answer again;
    lock.start_upgrade(old, {}, again.done());
    world.settle();
    EXPECT_EQ(again.reason(), errc::unreachable) << "what became of the first is not known";
    world.advance(26s);
    EXPECT_FALSE(old.valid());
    mine.net->thaw();
    world.advance(5s);
    EXPECT_TRUE(world.empty());
    EXPECT_TRUE(world.free("job"));
}

TEST_F(exchange, releasing_the_old_hold_also_gives_back_an_upgrade_nobody_heard_of) {
    hold old = lock.acquire_upgradeable();
    mine.net->lose_replies(verb::claim, fault_plan::for_ever);
    mine.net->lose_requests(verb::renew, fault_plan::for_ever);
    lock.start_upgrade(old, {.wait = 2s}, mine_is.done());
    world.advance(3s);
    EXPECT_EQ(mine_is.reason(), errc::unreachable);
    EXPECT_FALSE(world.empty());
    old.release();
    world.settle();
    EXPECT_TRUE(world.empty());
    EXPECT_TRUE(world.free("job"));
}

TEST_F(exchange, refused_because_the_old_hold_has_ended_tells_its_owner) {
    const hold old = lock.acquire_upgradeable();
    mine.net->lose_pushes();
    std::error_code ec;
    EXPECT_TRUE(other.locks.break_lock("job", old.token(), "test", ec)) << ec;
    world.settle();
    EXPECT_TRUE(old.valid()) << "it has not been told";
    lock.start_upgrade(old, {}, mine_is.done());
    world.settle();
    EXPECT_EQ(mine_is.reason(), errc::lost);
    EXPECT_FALSE(old.valid());
    EXPECT_EQ(mine.seen->count(event_kind::lost), 1u);
}

TEST_F(exchange, a_writer_that_is_being_downgraded_is_not_valid_meanwhile) {
    const hold old = lock.acquire();
    mine.net->delay(verb::claim, 100ms, 100ms);
    lock.start_downgrade(old, mine_is.done());
    world.advance(50ms);
    EXPECT_FALSE(old.valid()) << "others may read from now on";
    world.advance(200ms);
    EXPECT_TRUE(mine_is.granted());
    EXPECT_EQ(mine.seen->count(event_kind::lost), 0u);
}

}  // namespace
}  // namespace mortise::testing
