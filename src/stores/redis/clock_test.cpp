// A server whose clock is set back while locks are held: a dead holder keeps its lock for one lease at most from the next look
// on, a living one keeps it, and tokens go on rising.
#include "checker/faults/movable_clock.hpp"
#include "stores/redis/servers/single.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/counting_semaphore.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::eventually;
using mortise::testing::milestone;
using ::testing::HasSubstr;
using ::testing::Not;

// By how much it is set back, a lease, and how long a dead holder's lock may stay taken: far more than a lease and the two
// seconds between two looks of a waiter, far less than the step.
constexpr auto step_back = -120s;
constexpr auto short_lease = 2s;
constexpr auto soon_enough = 40s;

class redis_clock : public ::testing::Test {
protected:
    void SetUp() override {
#if defined(MORTISE_WALL_CLOCK_SHIM)
        clock_.emplace(MORTISE_WALL_CLOCK_SHIM);
        redis_.emplace(std::vector<std::string>{}, clock_->command());
#else
        GTEST_SKIP() << "sanitizers want to be loaded first, so there is no shim; run by the plain build";
#endif
    }

    std::string url() {
        return "redis://" + redis_->node().address();
    }
    void set_clock(std::chrono::seconds ahead) {
        clock_->set(ahead);
        const std::chrono::seconds theirs{std::stoll(redis_->node().command({"time"}))};
        const auto ours = std::chrono::system_clock::now().time_since_epoch();
        ASSERT_LT(std::chrono::abs(theirs - ours - ahead), 20s) << "the clock was not set";
    }

    // A process that has taken something and is killed.
    void die_with(const std::function<void(client&, const std::function<void()>&)>& take) {
        milestone holds;
        child dies{[&] {
            client locks{url(), {.lease = short_lease}};
            take(locks, [&] {
                holds.reach('y');
                ::pause();
            });
            return 0;
        }};
        ASSERT_EQ(holds.await(), 'y');
    }

    std::optional<mortise::testing::movable_clock> clock_;
    std::optional<single> redis_;
};

TEST_F(redis_clock, set_back_keeps_a_dead_holders_lock_for_one_lease_and_not_for_the_step) {
    die_with([](client& locks, const auto& die) {
        const hold mine = locks.acquire("x");
        die();
    });
    client locks{url()};
    const auto before = locks.list();
    ASSERT_EQ(before.size(), 1u);
    set_clock(step_back);
    attempt got = locks.try_acquire("x", {.wait = soon_enough});
    ASSERT_TRUE(got) << got.refusal().describe();
    EXPECT_GT(got->token(), before.front().holder.token);
}

TEST_F(redis_clock, set_back_keeps_the_permits_of_the_dead_for_one_lease) {
    die_with([](client& locks, const auto& die) {
        counting_semaphore permits{locks, "x", 2};
        const hold first = permits.acquire();
        const hold second = permits.acquire();
        die();
    });
    client locks{url()};
    counting_semaphore permits{locks, "x", 2};
    set_clock(step_back);
    attempt first = permits.try_acquire_for(soon_enough);
    ASSERT_TRUE(first) << first.refusal().describe();
    attempt second = permits.try_acquire_for(soon_enough);
    ASSERT_TRUE(second) << second.refusal().describe();
    EXPECT_GT(second->token(), first->token());
}

// Somebody who only tries is told no, and has looked: the lease begins anew with that.
TEST_F(redis_clock, set_back_is_seen_by_those_who_do_not_wait) {
    die_with([](client& locks, const auto& die) {
        const hold mine = locks.acquire("x");
        die();
    });
    client locks{url()};
    set_clock(step_back);
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(locks.try_acquire("x")); }, soon_enough));
}

TEST_F(redis_clock, set_back_takes_no_lock_from_the_living) {
    client mine{url(), {.lease = short_lease}};
    client others{url()};
    hold held = mine.acquire("x");
    const token first = held.token();
    for (const auto ahead : {step_back, step_back * 2}) {
        set_clock(ahead);
        // Longer than a lease: it was renewed by the clock as it is now, and others have looked.
        EXPECT_FALSE(others.try_acquire("x", {.wait = 2 * short_lease}));
        EXPECT_TRUE(held.valid()) << "lost to a clock that was set back";
    }
    held.release();
    attempt next = others.try_acquire("x", {.wait = soon_enough});
    ASSERT_TRUE(next) << next.refusal().describe();
    EXPECT_GT(next->token(), first);
    EXPECT_EQ(others.list().front().waiting, 0u);
}

TEST_F(redis_clock, set_back_loses_nobody_who_waits) {
    client mine{url()};
    client others{url()};
    hold held = mine.acquire("x");
    std::atomic<bool> got = false;
    others.start({.name = "x", .options = {.wait = soon_enough}},
                 [&](const attempt& answer) { got = static_cast<bool>(answer); });
    ASSERT_TRUE(eventually([&] { return mine.list().front().waiting == 1; }));
    set_clock(step_back);
    held.release();
    EXPECT_TRUE(eventually([&] { return got.load(); }, soon_enough));
}

TEST_F(redis_clock, set_back_is_what_the_doctor_says) {
    const auto words = [&] {
        client locks{url()};
        std::string all;
        std::error_code ec;
        for (const finding& one : locks.check(ec))
            all += std::string(to_string(one.is)) + " " + one.what + " -> " + one.remedy + "\n";
        return all;
    };
    client locks{url()};
    locks.acquire("x").release();
    EXPECT_THAT(words(), Not(HasSubstr("set back")));
    set_clock(step_back);
    EXPECT_THAT(words(), HasSubstr("warning " + redis_->node().address() +
                                   ": its clock was set back: the lock 'x' was last granted or renewed"));
}

}  // namespace
}  // namespace mortise::stores::redis::servers
