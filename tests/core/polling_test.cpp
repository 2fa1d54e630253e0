// A store that answers `busy` to a claim that would queue is asked again, at a pace that it can stand.
#include "fleet.hpp"
#include "support/polling_store.hpp"

#include <mortise/error.hpp>

#include <deque>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class polling_waiter : public ::testing::Test {
protected:
    client join(const std::shared_ptr<polling_log>& of) {
        return spi::make_client(polling(stores::memory::open(world.shared_table()), of), world.sim().world(),
                                fleet::quick());
    }
    unsigned asked_during(std::chrono::nanoseconds time) {
        const unsigned before = log->claims;
        world.advance(time);
        return log->claims - before;
    }

    fleet world;
    member holder = world.join();
    std::shared_ptr<polling_log> log = std::make_shared<polling_log>();
    client locks = join(log);
};

TEST_F(polling_waiter, asks_once_before_the_first_pause) {
    const hold held = holder.locks.acquire("job");
    const call waits{locks, "job"};
    EXPECT_EQ(log->claims, 1u);
    EXPECT_EQ(log->deepest, 1u);
}

TEST_F(polling_waiter, gives_way_once_when_its_client_has_had_the_lock_for_all_its_turns) {
    hold first = locks.acquire("job");
    std::deque<call> line;
    for (unsigned i = 0; i < fleet::quick().hand_over_turns; ++i) line.emplace_back(locks, "job");
    first.release();
    while (line.size() > 1) {
        world.settle();
        ASSERT_TRUE(line.front().granted());
        EXPECT_EQ(log->polite_claims, 0u) << "it is handed over inside";
        line.pop_front();
    }
    world.settle();
    EXPECT_TRUE(line.front().granted());
    EXPECT_EQ(log->claims, 2u);
    EXPECT_EQ(log->polite_claims, 1u);
}

TEST_F(polling_waiter, asks_at_most_six_times_a_second) {
    const hold held = holder.locks.acquire("job");
    const call waits{locks, "job"};
    world.advance(1s);
    const unsigned asked = asked_during(100s);
    EXPECT_LE(asked, 600u);
    EXPECT_GE(asked, 500u);
    EXPECT_EQ(log->deepest, 1u);
    EXPECT_FALSE(waits.answered());
}

TEST_F(polling_waiter, is_granted_soon_after_the_release) {
    hold held = holder.locks.acquire("job");
    const call waits{locks, "job"};
    world.advance(10s);
    held.release();
    EXPECT_FALSE(waits.granted());
    world.advance(200ms);
    EXPECT_TRUE(waits.granted());
}

TEST_F(polling_waiter, asks_soon_at_first) {
    hold held = holder.locks.acquire("job");
    const call waits{locks, "job"};
    held.release();
    world.advance(25ms);
    EXPECT_TRUE(waits.granted());
}

TEST_F(polling_waiter, asks_when_the_holders_lease_ends) {
    const hold held = holder.locks.acquire("job");
    const call waits{locks, "job"};
    world.advance(5s);
    log->free_in = [] { return 40ms; };
    while (asked_during(1ms) == 0) {
    }
    log->free_in = {};
    EXPECT_EQ(asked_during(41ms), 1u);
}

TEST_F(polling_waiter, does_not_follow_a_holder_that_renews_a_short_lease) {
    const hold held = holder.locks.acquire("job");
    log->free_in = [] { return 0ms; };
    const call waits{locks, "job"};
    world.advance(1s);
    EXPECT_LE(asked_during(100s), 600u);
}

TEST_F(polling_waiter, does_not_sleep_through_a_release_because_a_lease_is_long) {
    hold held = holder.locks.acquire("job");
    log->free_in = [] { return 1h; };
    const call waits{locks, "job"};
    world.advance(10s);
    held.release();
    world.advance(200ms);
    EXPECT_TRUE(waits.granted());
}

TEST_F(polling_waiter, asks_no_more_once_it_gave_up) {
    const hold held = holder.locks.acquire("job");
    const call waits{locks, "job", {.wait = 3s}};
    world.advance(3s);
    EXPECT_EQ(waits.reason(), errc::timed_out);
    EXPECT_EQ(waits.refusal().holder->pid, holder.locks.list().front().holder.pid);
    EXPECT_EQ(asked_during(1min), 0u);
}

TEST_F(polling_waiter, tells_of_its_waiting_once) {
    const auto seen = std::make_shared<recording_observer>();
    client_options options = fleet::quick();
    options.observer = seen;
    client mine =
        spi::make_client(polling(stores::memory::open(world.shared_table()), log), world.sim().world(), options);
    hold held = holder.locks.acquire("job");
    const call waits{mine, "job"};
    world.advance(10s);
    held.release();
    world.advance(200ms);
    EXPECT_EQ(seen->story("job"), "claimed waited granted");
}

TEST_F(polling_waiter, calls_of_one_client_poll_as_one) {
    const hold held = holder.locks.acquire("job");
    const call one{locks, "job"};
    const call two{locks, "job"};
    world.advance(1s);
    EXPECT_LE(asked_during(10s), 60u);
}

TEST_F(polling_waiter, does_not_wait_if_it_was_told_not_to) {
    const hold held = holder.locks.acquire("job");
    EXPECT_EQ(locks.try_acquire("job").reason(), errc::busy);
    EXPECT_EQ(asked_during(1min), 0u);
}

TEST(claim_requests, carry_the_order_they_demand) {
    fleet world;
    const auto log = std::make_shared<polling_log>();
    client locks = spi::make_client(
        [&](const spi::context& outer) {
            return std::make_unique<polling_store>(outer, stores::memory::open(world.shared_table()), log);
        },
        world.sim().world(), fleet::quick());
    const hold any = locks.acquire("a");
    EXPECT_EQ(log->claims.load(), 1u);
    EXPECT_EQ(log->strict_claims.load(), 0u);
    const hold strict = locks.acquire("b", {.order = order::fifo});
    EXPECT_EQ(log->claims.load(), 2u);
    EXPECT_EQ(log->strict_claims.load(), 1u);
}

TEST(a_store_that_cannot_list, is_not_asked_to) {
    fleet world;
    const auto secretive =
        modest(stores::memory::open(world.shared_table()), [](mortise::promises& p) { p.lists = false; });
    client locks = spi::make_client(secretive, world.sim().world(), fleet::quick());

    std::error_code ec;
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_EQ(ec, errc::unsupported);
    try {
        static_cast<void>(locks.list());
        ADD_FAILURE() << "listed";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::unsupported);
        EXPECT_STREQ(e.what(), "store (given store): the modest store does not promise lists of locks");
    }
    std::error_code started;
    locks.start_list([&](const std::vector<held_lock>&, std::error_code why) { started = why; });
    world.settle();
    EXPECT_EQ(started, errc::unsupported);
    EXPECT_THROW(static_cast<void>(locks.watch("", [](const auto&, std::error_code) {})), error);
}

}  // namespace
}  // namespace mortise::testing
