// Waits that end early: by stop_token, by deadline, by the end of the client. Nothing waits on, and nothing throws.
#include "fleet.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

static_assert(std::is_nothrow_destructible_v<client>);
static_assert(std::is_nothrow_destructible_v<hold>);
static_assert(std::is_nothrow_destructible_v<mortise::mutex>);

class cancel : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
    member other = world.join();
};

TEST_F(cancel, a_stop_token_ends_a_wait_and_leaves_no_waiter) {
    hold held = other.locks.acquire("job");
    std::stop_source stop;
    call waiting(mine.locks, "job", {.stop = stop.get_token()});
    world.settle();
    EXPECT_EQ(world.waiting("job"), 1u);

    stop.request_stop();
    EXPECT_EQ(world.waiting("job"), 0u);  // at once, not when the callbacks run
    world.settle();
    EXPECT_EQ(waiting.reason(), errc::cancelled);
    EXPECT_EQ(waiting.reason(), std::errc::operation_canceled);
    EXPECT_TRUE(waiting.refusal().holder);
    held.release();
    EXPECT_TRUE(world.empty());
    world.advance(1h);
    EXPECT_EQ(waiting.answers(), 1);
}

TEST_F(cancel, a_stop_requested_before_asks_the_store_nothing) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(mine.locks.try_acquire("job", {.stop = stop.get_token()}).reason(), errc::cancelled);
    call waiting(mine.locks, "job", {.stop = stop.get_token()});
    world.settle();
    EXPECT_EQ(waiting.reason(), errc::cancelled);
    EXPECT_EQ(mine.net->calls(verb::claim), 0u);
    EXPECT_TRUE(world.empty());
}

TEST_F(cancel, a_stop_ends_a_wait_for_a_silent_store_too) {
    mine.net->freeze();
    std::stop_source stop;
    call waiting(mine.locks, "job", {.stop = stop.get_token()});
    stop.request_stop();
    world.settle();
    EXPECT_EQ(waiting.reason(), errc::cancelled);
    mine.net->thaw();
    world.settle();
    EXPECT_TRUE(world.empty());
}

TEST_F(cancel, a_stop_after_the_grant_has_no_effect_on_the_hold) {
    std::stop_source stop;
    const hold held = mine.locks.acquire("job", {.stop = stop.get_token()});
    stop.request_stop();
    world.advance(1min);
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(held.lost().stop_requested());
}

TEST_F(cancel, one_stop_ends_many_waits) {
    const hold held = other.locks.acquire("a");
    const hold local = mine.locks.acquire("b");
    std::stop_source stop;
    std::vector<call> waiting;
    for (int i = 0; i < 50; ++i)
        waiting.emplace_back(mine.locks, i % 2 == 0 ? "a" : "b", claim_options{.stop = stop.get_token()});
    world.settle();
    stop.request_stop();
    world.settle();
    for (const call& one : waiting) EXPECT_EQ(one.reason(), errc::cancelled);
    EXPECT_EQ(world.waiting("a"), 0u);
}

TEST_F(cancel, a_wait_ends_at_its_deadline_and_not_before) {
    const hold held = other.locks.acquire("job");
    call waiting(mine.locks, "job", {.wait = 5s});
    world.advance(5s - 1ns);
    EXPECT_FALSE(waiting.answered());
    EXPECT_EQ(world.waiting("job"), 1u);
    world.advance(1ns);
    EXPECT_EQ(waiting.reason(), errc::timed_out);
    EXPECT_EQ(world.waiting("job"), 0u);
    EXPECT_EQ(mine.seen->events("job").back().took, 5s);
}

TEST_F(cancel, no_wait_does_not_wait) {
    const hold held = other.locks.acquire("job");
    const attempt got = mine.locks.try_acquire("job");
    EXPECT_EQ(got.reason(), errc::busy);
    EXPECT_EQ(got.reason(), std::errc::device_or_resource_busy);
    ASSERT_TRUE(got.refusal().holder);
    EXPECT_EQ(got.refusal().holder->token, held.token());
    EXPECT_EQ(world.waiting("job"), 0u);
}

TEST_F(cancel, a_completion_runs_once_and_only_where_callbacks_run) {
    int answers = 0;
    mine.locks.start({.name = "job"}, [&](attempt got) {
        ++answers;
        EXPECT_TRUE(got);
    });
    EXPECT_EQ(answers, 0);  // granted already, but this is not the place
    EXPECT_FALSE(world.empty());
    world.settle();
    EXPECT_EQ(answers, 1);
    EXPECT_TRUE(world.empty());  // the hold was dropped
    world.advance(1h);
    EXPECT_EQ(answers, 1);
}

TEST_F(cancel, a_completion_may_call_the_client_again) {
    int depth = 0;
    std::function<void()> again = [&] {
        mine.locks.start({.name = "job"}, [&](attempt got) {
            EXPECT_TRUE(got);
            got->release();
            if (++depth < 10) again();
        });
    };
    again();
    world.settle();
    EXPECT_EQ(depth, 10);
    EXPECT_TRUE(world.empty());
}

TEST_F(cancel, closing_the_client_answers_whoever_waits_and_frees_what_it_held) {
    std::optional<member> leaving{world.join()};
    const hold elsewhere = other.locks.acquire("elsewhere");
    hold own = leaving->locks.acquire("own");
    const std::stop_token lost = own.lost();
    call remote(leaving->locks, "elsewhere");
    call local(leaving->locks, "own");
    world.settle();
    leaving.reset();
    world.settle();
    EXPECT_EQ(remote.reason(), errc::closed);
    EXPECT_EQ(local.reason(), errc::closed);
    EXPECT_EQ(world.waiting("elsewhere"), 0u);
    EXPECT_TRUE(world.free("own"));
    EXPECT_FALSE(own.valid());
    EXPECT_FALSE(own);
}

TEST_F(cancel, holds_and_mutexes_may_outlive_the_client_and_answer_closed) {
    std::optional<member> leaving{world.join()};
    hold held = leaving->locks.acquire("held");
    mortise::mutex locked(leaving->locks, "locked");
    mortise::mutex idle(leaving->locks, "idle");
    locked.lock();
    leaving.reset();

    std::error_code ec;
    EXPECT_EQ(held.release(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::closed);
    EXPECT_EQ(held.remaining(), 0ns);
    EXPECT_EQ(held.name(), "held");
    EXPECT_FALSE(locked.hold().valid());
    locked.unlock(ec);
    EXPECT_EQ(ec, errc::closed);
    idle.lock(ec);
    EXPECT_EQ(ec, errc::closed);
    EXPECT_EQ(ec, std::errc::not_connected);
    EXPECT_FALSE(idle.try_lock(ec));
    EXPECT_EQ(ec, errc::closed);
    EXPECT_TRUE(world.empty());
}

TEST_F(cancel, a_moved_client_is_the_same_client) {
    hold held = mine.locks.acquire("job");
    client moved = std::move(mine.locks);
    EXPECT_TRUE(held.valid());
    mine.locks = std::move(moved);
    EXPECT_EQ(held.release(), release_result::released);
}

// On real threads and real time.

TEST(cancel_threads, a_stop_that_races_with_the_grant_leaves_one_clear_answer) {
    client locks{"memory:cancel-race"};
    client rival{"memory:cancel-race"};
    int granted = 0;
    for (int i = 0; i < 500; ++i) {
        std::stop_source stop;
        hold held = (i % 2 == 0 ? locks : rival).acquire("job");
        std::optional<attempt> got;
        std::thread waiter([&] { got.emplace(locks.try_acquire("job", {.wait = 1min, .stop = stop.get_token()})); });
        std::thread stopper([&] { stop.request_stop(); });
        held.release();
        stopper.join();
        waiter.join();
        if (*got) {
            ++granted;
            EXPECT_TRUE((*got)->valid());
        } else {
            EXPECT_EQ(got->reason(), errc::cancelled);
        }
        got.reset();
        EXPECT_TRUE(rival.try_acquire("job")) << i;  // whatever it was, nothing stayed behind
    }
    RecordProperty("granted", granted);
}

TEST(cancel_threads, closing_races_with_waiters_and_holders) {
    for (int i = 0; i < 50; ++i) {
        auto locks = std::make_unique<client>("memory:close-race");
        std::atomic<int> ready{0};
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t)
            threads.emplace_back([&, door = std::make_shared<mortise::mutex>(*locks, "door")] {
                ++ready;
                std::error_code ec;
                for (door->lock(ec); !ec; door->lock(ec)) door->unlock(ec);
                EXPECT_EQ(ec, errc::closed);
            });
        ASSERT_TRUE(eventually([&] { return ready == 4; }));
        locks.reset();
        for (std::thread& one : threads) one.join();
        client after{"memory:close-race"};
        EXPECT_TRUE(after.try_acquire("door"));
    }
}

TEST(cancel_threads, the_destructor_is_bounded_though_the_store_is_frozen) {
    auto net = std::make_shared<fault_plan>();
    const client_options impatient{.release_wait = 1ms, .close_wait = 5ms};
    std::optional<hold> held;
    std::error_code why;
    {
        client locks = spi::make_client(faulty(spi::factory_of("memory:frozen"), net), {}, impatient);
        held.emplace(locks.acquire("job"));
        net->freeze();
        std::thread waiter([&] { static_cast<void>(locks.acquire("other", {}, why)); });
        ASSERT_TRUE(eventually([&] { return net->calls(verb::claim) == 2; }));
        // The client goes in the background of its waiter: both must end.
        std::thread closer([gone = std::move(locks)] {});
        closer.join();
        waiter.join();
    }
    EXPECT_EQ(why, errc::closed);
    std::error_code ec;
    held->release(ec);
    EXPECT_EQ(ec, errc::closed);
    held.reset();
}

TEST(cancel_threads, completions_run_on_one_thread_that_is_not_the_callers) {
    client locks{"memory:completions"};
    std::atomic<int> answers{0};
    std::atomic<int> on_callers_thread{0};
    const auto caller = std::this_thread::get_id();
    for (int i = 0; i < 100; ++i)
        locks.start({.name = "job"}, [&](attempt got) {
            if (!got || std::this_thread::get_id() == caller) ++on_callers_thread;
            ++answers;
        });
    EXPECT_TRUE(eventually([&] { return answers == 100; }));
    EXPECT_EQ(on_callers_thread, 0);
}

TEST(cancel_threads, a_client_may_be_destroyed_by_its_own_callback) {
    auto locks = std::make_unique<client>("memory:suicide");
    std::atomic<bool> gone{false};
    locks->start({.name = "job"}, [&](attempt got) {
        EXPECT_TRUE(got);
        locks.reset();
        gone = true;
    });
    EXPECT_TRUE(eventually([&] { return gone.load(); }));
}

}  // namespace
}  // namespace mortise::testing
