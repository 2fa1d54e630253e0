// Every kind of lock without a thread that waits: one answer, where callbacks run, and nothing stays behind.
#include "core/fleet.hpp"

#include <mortise/counting_semaphore.hpp>
#include <mortise/election.hpp>
#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/shared_mutex.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// One answer, counted.
template <class Answer>
class pending {
public:
    auto taker() {
        return [mine = mine_](Answer got) {
            ++mine->answers;
            mine->got.emplace(std::move(got));
        };
    }
    int answers() const { return mine_->answers; }
    bool granted() const { return mine_->got && static_cast<bool>(*mine_->got); }
    std::error_code reason() const { return mine_->got ? mine_->got->reason() : std::error_code{}; }
    Answer& operator*() const { return *mine_->got; }
    Answer* operator->() const { return &*mine_->got; }
    void forget() { mine_->got.reset(); }

private:
    struct state {
        int answers = 0;
        std::optional<Answer> got;
    };
    std::shared_ptr<state> mine_ = std::make_shared<state>();
};

class starting : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
    member other = world.join();
    std::stop_source stop;
};

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

class campaign_start : public starting {
protected:
    struct outcome {
        int answers = 0;
        std::optional<refusal> no;
        bool leads() const { return answers == 1 && !no; }
        std::error_code reason() const { return no ? no->reason : std::error_code{}; }
    };
    static election::completion taker(outcome& into) {
        return [&into](std::optional<refusal> no) {
            ++into.answers;
            into.no = std::move(no);
        };
    }
    outcome first;
    outcome second;
    election one{mine.locks, "chief"};
    election two{other.locks, "chief"};
};

TEST_F(campaign_start, leads_when_its_turn_comes) {
    one.start_campaign({}, taker(first));
    two.start_campaign({}, taker(second));
    EXPECT_EQ(first.answers, 0);
    world.settle();
    EXPECT_TRUE(first.leads());
    EXPECT_TRUE(one.is_leader());
    EXPECT_EQ(second.answers, 0);
    std::optional<release_result> said;
    one.start_resign([&](release_result result, std::error_code) { said = result; });
    EXPECT_FALSE(one.is_leader());
    world.settle();
    EXPECT_EQ(said, release_result::released);
    EXPECT_TRUE(second.leads());
    two.start_campaign({}, taker(first));
    world.settle();
    EXPECT_EQ(first.answers, 2) << "it leads already";
    EXPECT_FALSE(first.no);
}

TEST_F(campaign_start, ends_by_its_stop_by_its_wait_or_by_resigning) {
    one.campaign();
    two.start_campaign({.stop = stop.get_token()}, taker(first));
    two.start_campaign({}, taker(second));
    world.settle();
    EXPECT_EQ(second.reason(), errc::busy) << "one campaign at a time";
    stop.request_stop();
    world.settle();
    EXPECT_EQ(first.reason(), errc::cancelled);
    two.start_campaign({.wait = 1s}, taker(first));
    world.advance(1s);
    EXPECT_EQ(first.reason(), errc::timed_out);
    two.start_campaign({}, taker(first));
    std::error_code why;
    two.start_resign([&](release_result, std::error_code ec) { why = ec; });
    world.settle();
    EXPECT_EQ(first.answers, 3);
    EXPECT_EQ(first.reason(), errc::cancelled);
    EXPECT_EQ(why, errc::not_owner);
    EXPECT_EQ(world.waiting("chief"), 0u);
}

TEST_F(campaign_start, ends_with_its_election) {
    one.campaign();
    {
        election brief{other.locks, "chief"};
        brief.start_campaign({}, taker(first));
        world.settle();
    }
    world.settle();
    EXPECT_EQ(first.answers, 1);
    EXPECT_EQ(first.reason(), errc::cancelled);
    EXPECT_EQ(world.waiting("chief"), 0u);
}

TEST_F(campaign_start, a_grant_that_comes_as_the_election_goes_is_given_back) {
    {
        election brief{other.locks, "chief"};
        brief.start_campaign({}, taker(first));  // granted, but the answer has not run yet
    }
    world.settle();
    EXPECT_EQ(first.answers, 1);
    EXPECT_EQ(first.reason(), errc::cancelled);
    EXPECT_TRUE(world.empty());
}

}  // namespace
}  // namespace mortise::testing
