// Locking again what one holds: counted, refused or lost, and never a silent hang.
#include "fleet.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>

#include <mutex>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class reentry : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
    member other = world.join();
};

// What code called in another thread, or thrown, has to say.
template <class Call>
std::error_code thrown_by(Call&& call) {
    try {
        call();
    } catch (const error& e) {
        return e.code();
    }
    return {};
}

template <class Call>
void in_another_thread(Call&& call) {
    std::thread{std::forward<Call>(call)}.join();
}

TEST_F(reentry, a_recursive_mutex_counts_and_is_free_at_zero) {
    recursive_mutex door(mine.locks, "door");
    door.lock();
    const token first = door.hold().token();
    door.lock();
    EXPECT_TRUE(door.try_lock());
    EXPECT_TRUE(door.try_lock_for(1s));
    EXPECT_EQ(door.hold().token(), first);
    EXPECT_EQ(mine.net->calls(verb::claim), 1u);

    for (int left = 3; left > 0; --left) {
        door.unlock();
        EXPECT_TRUE(door.hold().valid());
        EXPECT_EQ(door.hold().token(), first);
        EXPECT_FALSE(world.free("door"));
    }
    std::error_code ec;
    door.unlock(ec);
    EXPECT_FALSE(ec);
    EXPECT_TRUE(world.empty());
    door.unlock(ec);
    EXPECT_EQ(ec, errc::not_owner);
}

TEST_F(reentry, two_recursive_mutexes_of_one_name_nest) {
    recursive_mutex outer(mine.locks, "door");
    recursive_mutex inner(mine.locks, "door");
    const std::scoped_lock guard{outer};
    {
        const std::scoped_lock nested{inner};
        EXPECT_EQ(inner.hold().token(), outer.hold().token());
    }
    EXPECT_TRUE(outer.hold().valid());
    EXPECT_FALSE(world.free("door"));
}

TEST_F(reentry, locking_a_mutex_twice_would_deadlock_and_says_so) {
    mortise::mutex door(mine.locks, "door");
    door.lock();
    const auto why = thrown_by([&] { door.lock(); });
    EXPECT_EQ(why, errc::would_deadlock);
    EXPECT_EQ(why, std::errc::resource_deadlock_would_occur);
    std::error_code ec;
    door.lock(ec);
    EXPECT_EQ(ec, errc::would_deadlock);
    EXPECT_FALSE(door.try_lock());
    EXPECT_FALSE(door.try_lock_for(1h));
    EXPECT_TRUE(door.hold().valid());
    door.unlock();
    EXPECT_TRUE(world.empty());
}

TEST_F(reentry, a_second_mutex_object_of_the_name_would_deadlock_as_well) {
    mortise::mutex door(mine.locks, "door");
    mortise::mutex same(mine.locks, "door");
    const std::scoped_lock guard{door};
    EXPECT_EQ(thrown_by([&] { same.lock(); }), std::errc::resource_deadlock_would_occur);
    EXPECT_FALSE(same.try_lock());
    EXPECT_FALSE(same.try_lock_for(1h));
    EXPECT_EQ(same.hold().token(), door.hold().token());
}

TEST_F(reentry, mutex_and_recursive_mutex_of_one_name_do_not_nest) {
    mortise::mutex plain(mine.locks, "door");
    recursive_mutex nesting(mine.locks, "door");
    {
        const std::scoped_lock guard{plain};
        EXPECT_EQ(thrown_by([&] { nesting.lock(); }), errc::would_deadlock);
        EXPECT_FALSE(nesting.try_lock());
    }
    {
        const std::scoped_lock guard{nesting};
        EXPECT_EQ(thrown_by([&] { plain.lock(); }), errc::would_deadlock);
        EXPECT_FALSE(plain.try_lock());
    }
    EXPECT_TRUE(world.empty());
}

TEST_F(reentry, other_names_are_other_locks) {
    mortise::mutex a(mine.locks, "a");
    mortise::mutex b(mine.locks, "b");
    const std::scoped_lock both{a, b};
    EXPECT_TRUE(a.hold().valid());
    EXPECT_TRUE(b.hold().valid());
    EXPECT_NE(a.hold().name(), b.hold().name());
}

TEST_F(reentry, the_same_name_on_another_client_is_busy_not_nested) {
    mortise::mutex here(mine.locks, "door");
    mortise::mutex there(other.locks, "door");
    const std::scoped_lock guard{here};
    EXPECT_FALSE(there.try_lock());
}

TEST_F(reentry, re_entry_and_partial_unlock_ask_for_a_renewal_and_do_not_await_it) {
    recursive_mutex door(mine.locks, "door");
    door.lock();
    world.advance(1s);
    const token before = door.hold().token();
    const auto until = door.hold().valid_until();
    mine.net->freeze();

    door.lock();  // returns, though nothing can be answered
    EXPECT_EQ(mine.net->calls(verb::renew), 1u);
    EXPECT_EQ(door.hold().valid_until(), until);
    mine.net->thaw();  // now the answer arrives
    EXPECT_EQ(door.hold().valid_until(), until + 1s);

    world.advance(1s);
    mine.net->freeze();
    std::error_code ec;
    door.unlock(ec);
    EXPECT_FALSE(ec);
    EXPECT_EQ(mine.net->calls(verb::renew), 2u);
    mine.net->thaw();
    EXPECT_EQ(door.hold().valid_until(), until + 2s);
    EXPECT_EQ(door.hold().token(), before);

    door.unlock();
    EXPECT_TRUE(world.empty());
}

TEST_F(reentry, re_entry_and_partial_unlock_start_a_fixed_lease_anew_once_each) {
    recursive_mutex door(mine.locks, "door", {.lease = 10s, .renew = renew::off});
    door.lock();
    const auto life = door.hold().remaining();
    world.advance(6s);
    EXPECT_EQ(mine.net->calls(verb::renew), 0u);
    EXPECT_EQ(door.hold().remaining(), life - 6s);
    door.lock();
    EXPECT_EQ(mine.net->calls(verb::renew), 1u);
    EXPECT_EQ(door.hold().remaining(), life);
    world.advance(6s);
    door.unlock();
    EXPECT_EQ(mine.net->calls(verb::renew), 2u);
    EXPECT_EQ(door.hold().remaining(), life);
    world.settle();
    EXPECT_EQ(mine.seen->story("door"), "claimed granted renewed renewed");
    EXPECT_FALSE(world.free("door"));
    world.advance(10s);
    EXPECT_EQ(mine.net->calls(verb::renew), 2u) << "nobody else renews it";
    EXPECT_EQ(door.hold().remaining(), 0s);
    EXPECT_TRUE(world.free("door"));
    EXPECT_EQ(thrown_by([&] { door.unlock(); }), std::error_code{});
}

TEST_F(reentry, a_crowd_of_re_entries_has_one_renewal_on_its_way) {
    recursive_mutex door(mine.locks, "door");
    door.lock();
    mine.net->freeze();
    for (int i = 0; i < 100; ++i) door.lock();
    EXPECT_EQ(mine.net->calls(verb::renew), 1u);
    mine.net->thaw();
    for (int i = 0; i < 101; ++i) door.unlock();
    EXPECT_TRUE(world.empty());
}

TEST_F(reentry, a_nested_lock_after_the_lease_ran_out_is_refused_as_lost_and_not_counted) {
    recursive_mutex door(mine.locks, "door");
    door.lock();
    world.clock().jump(31s);
    EXPECT_EQ(thrown_by([&] { door.lock(); }), errc::lost);
    EXPECT_EQ(thrown_by([&] { static_cast<void>(door.try_lock()); }), errc::lost);
    EXPECT_EQ(thrown_by([&] { static_cast<void>(door.try_lock_for(1h)); }), errc::lost);
    std::error_code ec;
    EXPECT_FALSE(door.try_lock(ec));
    EXPECT_EQ(ec, errc::lost);

    door.unlock(ec);  // one unlock for the one lock that was
    EXPECT_EQ(ec, errc::lost);
    door.unlock(ec);
    EXPECT_EQ(ec, errc::not_owner);
    door.lock();
    EXPECT_TRUE(door.hold().valid());
    door.unlock();
}

TEST_F(reentry, inner_frames_of_a_lost_lock_are_told_so_and_the_successor_is_unharmed) {
    recursive_mutex door(mine.locks, "door");
    door.lock();
    door.lock();
    world.clock().jump(31s);
    const hold next = other.locks.acquire("door");
    std::error_code ec;
    door.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
    door.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
    EXPECT_TRUE(next.valid());
    EXPECT_FALSE(world.free("door"));
}

TEST_F(reentry, an_owner_object_carries_its_locks_across_threads) {
    recursive_mutex door(mine.locks, "door");
    const owner request;
    door.lock(request);
    const token first = door.hold(request).token();
    in_another_thread([&] {
        door.lock(request);
        EXPECT_EQ(door.hold(request).token(), first);
        EXPECT_FALSE(door.try_lock());  // the thread itself is somebody else
        door.unlock(request);
    });
    EXPECT_EQ(thrown_by([&] { static_cast<void>(door.hold()); }), errc::not_owner);
    const owner another;
    EXPECT_FALSE(door.try_lock(another));
    std::error_code ec;
    door.unlock(another, ec);
    EXPECT_EQ(ec, errc::not_owner);
    EXPECT_FALSE(world.empty());
    door.unlock(request, ec);
    EXPECT_FALSE(ec);
    EXPECT_TRUE(world.empty());
}

TEST_F(reentry, an_unlock_by_a_stranger_releases_nothing) {
    mortise::mutex door(mine.locks, "door");
    door.lock();
    in_another_thread([&] {
        std::error_code ec;
        door.unlock(ec);
        EXPECT_EQ(ec, errc::not_owner);
        EXPECT_EQ(ec, std::errc::operation_not_permitted);
        EXPECT_EQ(thrown_by([&] { static_cast<void>(door.hold()); }), errc::not_owner);
    });
    world.settle();
    EXPECT_TRUE(door.hold().valid());
    EXPECT_FALSE(world.free("door"));
    EXPECT_EQ(mine.seen->events("door").back().reason, errc::not_owner);
}

TEST_F(reentry, another_claims_id_releases_nothing) {
    hold held = mine.locks.acquire("door", {.kept_by = kept_by::lease});
    std::error_code ec;
    EXPECT_EQ(other.locks.release("door", claim_id::random(), ec), release_result::taken_over);
    EXPECT_EQ(other.locks.release("gate", held.id(), ec), release_result::expired);  // right id, wrong name
    EXPECT_FALSE(ec);
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(world.free("door"));
}

TEST_F(reentry, a_thread_that_ended_with_a_lock_does_not_bequeath_it_to_the_next) {
    recursive_mutex door(mine.locks, "door");
    in_another_thread([&] { door.lock(); });
    for (int i = 0; i < 20; ++i)  // one of them is given the same thread id by the system
        in_another_thread([&] {
            EXPECT_FALSE(door.try_lock());
            std::error_code ec;
            door.unlock(ec);
            EXPECT_EQ(ec, errc::not_owner);
        });
    EXPECT_FALSE(world.empty());
}

TEST_F(reentry, destroying_a_locked_mutex_releases_it) {
    {
        mortise::mutex door(mine.locks, "door");
        door.lock();
        EXPECT_FALSE(world.empty());
    }
    EXPECT_TRUE(world.empty());
    {
        recursive_mutex forgotten(mine.locks, "forgotten");
        forgotten.lock();
        forgotten.lock();
        in_another_thread([&] { EXPECT_FALSE(forgotten.try_lock()); });
    }
    EXPECT_TRUE(world.empty());
}

TEST_F(reentry, destroying_a_mutex_that_somebody_else_locked_through_another_object_releases_nothing) {
    mortise::mutex door(mine.locks, "door");
    door.lock();
    { mortise::mutex bystander(mine.locks, "door"); }
    EXPECT_TRUE(door.hold().valid());
    EXPECT_FALSE(world.free("door"));
}

TEST_F(reentry, an_exception_out_of_the_critical_section_frees_the_lock_before_its_handler_runs) {
    mortise::mutex door(mine.locks, "door");
    recursive_mutex nest(mine.locks, "nest");
    bool handled = false;
    try {
        const std::scoped_lock guard{door};
        const std::scoped_lock outer{nest};
        const std::scoped_lock inner{nest};
        const hold handle = mine.locks.acquire("handle");
        throw std::runtime_error("out of the critical section");
    } catch (const std::runtime_error&) {
        handled = true;
        EXPECT_TRUE(world.empty());
        EXPECT_TRUE(other.locks.try_acquire("door"));
    }
    EXPECT_TRUE(handled);
}

}  // namespace
}  // namespace mortise::testing
