// A lock object keeps the grant of its last unlock by a word (spi::grant_word), and takes it again without asking the store.
#include "fleet.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class kept_grant : public ::testing::Test {
protected:
    static std::uint64_t asked(const member& who) {
        return who.net->calls(verb::claim) + who.net->calls(verb::renew) + who.net->calls(verb::release);
    }
    // Locks and unlocks once; answers the token.
    template <class Mutex>
    static token once(Mutex& m) {
        EXPECT_TRUE(m.try_lock());
        const token mine = m.hold().token();
        EXPECT_TRUE(m.hold().valid());
        std::error_code ec;
        m.unlock(ec);
        EXPECT_FALSE(ec);
        return mine;
    }

    fleet world;
    member mine = world.join();
    member other = world.join();
};

TEST_F(kept_grant, is_taken_again_with_the_next_turn_and_asks_nobody) {
    mutex m{mine.locks, "x"};
    const token first = once(m);
    const auto before = asked(mine);
    EXPECT_EQ(before, 1u);
    for (std::uint64_t turn = 1; turn <= 100; ++turn) EXPECT_EQ(once(m), token::of(first.counter(), turn));
    EXPECT_EQ(asked(mine), before);
    world.settle();
    EXPECT_EQ(mine.seen->count(event_kind::claimed), 101u);
    EXPECT_EQ(mine.seen->count(event_kind::granted), 101u);
    EXPECT_EQ(mine.seen->count(event_kind::released), 101u);
    EXPECT_EQ(mine.seen->count(event_kind::lost), 0u);
}

TEST_F(kept_grant, is_not_listed_and_cannot_be_broken) {
    mutex m{mine.locks, "x"};
    const token first = once(m);
    EXPECT_TRUE(world.empty());
    std::error_code ec;
    EXPECT_FALSE(other.locks.break_lock("x", first, "", ec));
    EXPECT_GT(once(m), first);
}

TEST_F(kept_grant, goes_to_whoever_asks) {
    mutex ours{mine.locks, "x"};
    mutex theirs{other.locks, "x"};
    token latest = once(ours);
    for (int i = 0; i < 10; ++i) {
        const token next = once(i % 2 == 0 ? theirs : ours);
        EXPECT_GT(next, latest);
        latest = next;
    }
    EXPECT_EQ(mine.seen->count(event_kind::lost), 0u);
}

TEST_F(kept_grant, goes_to_a_reader_and_to_a_fair_one) {
    shared_mutex ours{mine.locks, "x"};
    ASSERT_TRUE(ours.try_lock());
    ours.unlock();
    shared_mutex theirs{other.locks, "x"};
    EXPECT_TRUE(theirs.try_lock_shared());
    EXPECT_FALSE(ours.try_lock());
    theirs.unlock_shared();
    once(ours);
    mutex fair{mine.locks, "y", {.order = order::fifo}};
    mutex plain{mine.locks, "y"};
    const token first = once(plain);
    EXPECT_GT(once(fair), first);
    EXPECT_GT(once(plain), first);
}

TEST_F(kept_grant, in_use_is_handed_to_the_one_that_waits) {
    mutex m{mine.locks, "x"};
    once(m);
    ASSERT_TRUE(m.try_lock());
    const token held = m.hold().token();
    EXPECT_FALSE(mutex(other.locks, "x").try_lock());
    call waiting(other.locks, "x");
    world.settle();
    EXPECT_FALSE(waiting.answered());
    m.unlock();
    world.settle();
    ASSERT_TRUE(waiting.granted());
    EXPECT_GT(waiting.hold().token(), held);
    EXPECT_FALSE(m.try_lock());
    waiting.hold().release();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST_F(kept_grant, is_taken_by_other_locks_of_the_client_too) {
    mutex one{mine.locks, "x"};
    mutex two{mine.locks, "x"};
    const token first = once(one);
    const auto before = asked(mine);
    EXPECT_EQ(once(two), token::of(first.counter(), 1));
    EXPECT_EQ(once(one), token::of(first.counter(), 2));
    EXPECT_EQ(once(one), token::of(first.counter(), 3));
    hold handle = mine.locks.acquire("x");
    EXPECT_EQ(handle.token(), token::of(first.counter(), 4));
    EXPECT_FALSE(two.try_lock());
    EXPECT_EQ(asked(mine), before);
    handle.release();  // a handle keeps nothing
    EXPECT_EQ(asked(mine), before + 1);
    EXPECT_THAT(world.table().records(), IsEmpty());
    EXPECT_GT(once(one).counter(), first.counter());
}

TEST_F(kept_grant, waits_in_line_inside_the_process) {
    mutex m{mine.locks, "x"};
    once(m);
    ASSERT_TRUE(m.try_lock());
    const token held = m.hold().token();
    call second(mine.locks, "x");
    m.unlock();
    world.settle();
    ASSERT_TRUE(second.granted());
    EXPECT_EQ(second.hold().token(), token::of(held.counter(), held.turn() + 1));
}

TEST_F(kept_grant, goes_back_to_the_store_with_its_lock) {
    {
        mutex m{mine.locks, "x"};
        once(m);
        EXPECT_EQ(world.table().records().size(), 1u);
    }
    EXPECT_THAT(world.table().records(), IsEmpty());
    mutex m{mine.locks, "x"};
    once(m);
    once(m);
    EXPECT_EQ(world.table().records().size(), 1u);
    { member gone = std::move(mine); }
    EXPECT_THAT(world.table().records(), IsEmpty());
    std::error_code ec;
    EXPECT_FALSE(m.try_lock(ec));
    EXPECT_EQ(ec, errc::closed);
}

TEST_F(kept_grant, goes_back_when_a_renewal_is_due_that_nobody_needs) {
    mutex m{mine.locks, "x"};
    const token first = once(m);
    world.advance(11s);
    EXPECT_THAT(world.table().records(), IsEmpty());
    EXPECT_EQ(mine.net->calls(verb::renew), 0u);
    EXPECT_EQ(mine.seen->count(event_kind::lost), 0u);
    ASSERT_TRUE(m.try_lock());
    EXPECT_GT(m.hold().token().counter(), first.counter());
    world.advance(2min);  // in use it is renewed
    EXPECT_TRUE(m.hold().valid());
    m.unlock();
    ASSERT_TRUE(m.try_lock());
    world.advance(2min);
    EXPECT_TRUE(m.hold().valid());
    m.unlock();
}

TEST_F(kept_grant, that_was_broken_in_use_is_lost) {
    mutex m{mine.locks, "x"};
    once(m);
    ASSERT_TRUE(m.try_lock());
    const token held = m.hold().token();
    std::error_code ec;
    EXPECT_TRUE(other.locks.break_lock("x", held, "", ec));
    world.settle();
    EXPECT_FALSE(m.hold().valid());
    EXPECT_EQ(mine.seen->count(event_kind::lost), 1u);
    EXPECT_TRUE(world.free("x"));
    m.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
    EXPECT_GT(once(m), held);
}

TEST_F(kept_grant, whose_lease_ended_in_use_is_lost) {
    mutex m{mine.locks, "x"};
    once(m);
    ASSERT_TRUE(m.try_lock());
    mine.net->lose_requests(verb::renew, 1000);
    world.advance(40s);
    EXPECT_FALSE(m.hold().valid());
    EXPECT_TRUE(world.free("x"));
    std::error_code ec;
    m.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
    once(m);
}

TEST_F(kept_grant, that_is_watched_is_released_and_the_watch_with_it) {
    mutex m{mine.locks, "x"};
    once(m);
    ASSERT_TRUE(m.try_lock());
    const std::stop_token lost = m.hold().lost();
    const token held = m.hold().token();
    m.unlock();
    EXPECT_THAT(world.table().records(), IsEmpty());
    ASSERT_TRUE(m.try_lock());
    EXPECT_GT(m.hold().token().counter(), held.counter());
    EXPECT_NE(m.hold().lost(), lost);
    EXPECT_FALSE(lost.stop_requested());
    m.unlock();
}

TEST_F(kept_grant, has_as_many_turns_as_a_token) {
    mutex m{mine.locks, "x"};
    token latest = once(m);
    for (int i = 0; i < 3000; ++i) {
        const token next = once(m);
        ASSERT_GT(next, latest);
        latest = next;
    }
    EXPECT_EQ(mine.net->calls(verb::claim), 3u);
    EXPECT_EQ(mine.net->calls(verb::release), 2u);
}

TEST_F(kept_grant, is_not_taken_by_a_call_that_is_cancelled) {
    std::stop_source stop;
    mutex m{mine.locks, "x", {.stop = stop.get_token()}};
    once(m);
    stop.request_stop();
    std::error_code ec;
    EXPECT_FALSE(m.try_lock(ec));
    EXPECT_EQ(ec, errc::cancelled);
}

TEST_F(kept_grant, is_none_without_hand_over) {
    mutex m{mine.locks, "x", {.hand_over = hand_over::off}};
    for (int i = 0; i < 10; ++i) once(m);
    EXPECT_EQ(mine.net->calls(verb::claim), 10u);
    EXPECT_EQ(mine.net->calls(verb::release), 10u);
    EXPECT_THAT(world.table().records(), IsEmpty());
}

TEST_F(kept_grant, of_a_recursive_mutex_counts_anew) {
    recursive_mutex m{mine.locks, "x"};
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(m.try_lock());
        ASSERT_TRUE(m.try_lock());
        m.unlock();
        EXPECT_TRUE(m.hold().valid());
        EXPECT_FALSE(mutex(other.locks, "x").try_lock());
        m.unlock();
    }
    EXPECT_EQ(mine.net->calls(verb::claim), 1u);
    EXPECT_TRUE(mutex(other.locks, "x").try_lock());
}

TEST_F(kept_grant, does_not_let_its_owner_in_twice) {
    mutex one{mine.locks, "x"};
    mutex two{mine.locks, "x"};
    once(one);
    ASSERT_TRUE(one.try_lock());
    std::error_code ec;
    one.lock(ec);
    EXPECT_EQ(ec, errc::would_deadlock);
    two.lock(ec);
    EXPECT_EQ(ec, errc::would_deadlock);
    two.unlock(ec);  // whichever object: the owner holds it
    EXPECT_FALSE(ec);
    once(one);
}

TEST_F(kept_grant, of_a_writer_becomes_a_readers) {
    shared_mutex m{mine.locks, "x"};
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(m.try_lock());
        m.downgrade_to_shared();
        shared_mutex theirs{other.locks, "x"};
        EXPECT_TRUE(theirs.try_lock_shared());
        theirs.unlock_shared();
        m.unlock_shared();
        ASSERT_TRUE(m.try_lock());
        m.unlock();
    }
}

// Two clients with two threads each, which share an object or have one of their own.
TEST(kept_grants, exclude_threads_and_clients) {
    client one{"memory:kept_grants"};
    client two{"memory:kept_grants"};
    mutex shared_by_two{one, "x"};
    std::uint64_t count = 0;
    token latest;
    std::atomic<int> inside{0};
    std::atomic<int> wrong{0};
    const auto work = [&](mutex& m, int pauses) {
        for (int i = 0; i < 3000; ++i) {
            std::scoped_lock guard{m};
            if (inside.fetch_add(1) != 0) ++wrong;
            if (m.hold().token() <= latest) ++wrong;
            latest = m.hold().token();
            ++count;
            if (pauses > 0 && i % pauses == 0) std::this_thread::yield();
            inside.fetch_sub(1);
        }
    };
    {
        std::vector<std::jthread> all;
        for (int n = 0; n < 2; ++n) all.emplace_back([&] { work(shared_by_two, 3); });
        for (int n = 0; n < 2; ++n)
            all.emplace_back([&, n] {
                mutex own{n == 0 ? one : two, "x"};
                work(own, 7);
            });
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(count, 12'000u);
}

// Whoever is the last one inside destroys the lock, while the unlock of the one before may not have returned yet.
TEST(kept_grants, of_a_lock_that_the_next_one_destroys_are_given_back) {
    client locks{"memory:kept_destroyed"};
    for (int round = 0; round < 300; ++round) {
        struct shared {
            explicit shared(client& c) : m(c, "x") {}
            mutex m;
            int users = 2;
        };
        auto* const both = new shared(locks);
        const auto leave = [both] {
            both->m.lock();
            const bool last = --both->users == 0;
            both->m.unlock();
            if (last) delete both;
        };
        std::jthread other{leave};
        leave();
    }
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST(kept_grants, of_threads_that_deadlock_are_found) {
    client locks{"memory:kept_deadlock"};
    mutex a{locks, "a"};
    mutex b{locks, "b"};
    for (mutex* m : {&a, &b}) {
        m->lock();
        m->unlock();
    }
    std::atomic<int> ready{0};
    std::atomic<int> told{0};
    const auto cross = [&](mutex& first, mutex& second) {
        std::scoped_lock guard{first};
        ++ready;
        while (ready < 2) std::this_thread::yield();
        std::error_code ec;
        second.lock(ec);
        if (ec == errc::would_deadlock) ++told;
        if (!ec) second.unlock();
    };
    {
        std::jthread other{[&] { cross(b, a); }};
        cross(a, b);
    }
    EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace mortise::testing
