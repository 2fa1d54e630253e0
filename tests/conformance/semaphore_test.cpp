// Permits: never more than there are, in order, and back from whoever is gone.
#include "conformance/suite.hpp"
#include "support/children.hpp"
#include "support/recording_observer.hpp"
#include "support/shared_page.hpp"
#include "support/waiting.hpp"

#include <mortise/counting_semaphore.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class semaphore : public store_suite {
protected:
    void SetUp() override {
        const client locks = make_client();
        const promises& can = locks.promises();
        if (!can.fifo || can.most_capacity < permits) GTEST_SKIP() << "not promised, and refused: see hostile input";
    }

    // Everything is back: nobody holds a permit and nobody is in the way.
    void expect_all_back(std::string_view name = "pool") const {
        client stranger = make_client();
        const attempt all = counting_semaphore{stranger, name, permits}.try_acquire_for(permits, plenty);
        EXPECT_TRUE(all) << all.refusal().describe();
    }

    static constexpr std::ptrdiff_t permits = 5;
};
EVERY_STORE(semaphore);

// How many are out, as their holders see it. Relaxed: it lends the lock no ordering.
struct out_now {
    std::atomic<std::ptrdiff_t> used{0};
    std::atomic<std::uint64_t> entries{0};
    std::atomic<std::uint64_t> excesses{0};

    void enter(std::ptrdiff_t count, std::ptrdiff_t of) {
        if (used.fetch_add(count, std::memory_order_relaxed) + count > of) ++excesses;
        ++entries;
    }
    void leave(std::ptrdiff_t count) { used.fetch_sub(count, std::memory_order_relaxed); }
};

void use(counting_semaphore& pool, out_now& out, std::uint64_t rounds, unsigned seed) {
    std::minstd_rand dice{seed + 1};
    for (std::uint64_t i = 0; i < rounds; ++i) {
        const auto count = static_cast<std::ptrdiff_t>(1 + dice() % static_cast<unsigned>(pool.permits()));
        std::optional<hold> mine;
        if (dice() % 3 == 0) {
            attempt got = pool.try_acquire(count);
            if (got) mine.emplace(*std::move(got));
        } else {
            mine.emplace(pool.acquire(count));
        }
        if (!mine) continue;
        out.enter(count, pool.permits());
        if (dice() % 4 == 0) std::this_thread::yield();
        out.leave(count);
        if (dice() % 2 == 0) mine->release();
    }
}

TEST_P(semaphore, never_gives_more_than_there_are_to_threads) {
    const std::uint64_t rounds = std::max<std::uint64_t>(scale(100), 5);
    out_now out;
    std::deque<client> locks;
    for (int c = 0; c < 2; ++c) locks.push_back(make_client());
    {
        std::vector<std::jthread> crowd;
        for (unsigned t = 0; t < 8; ++t)
            crowd.emplace_back([&, t] {
                counting_semaphore pool{locks[t % 2], "pool", permits};
                use(pool, out, rounds, t);
            });
    }
    EXPECT_GE(out.entries, 8u);
    EXPECT_EQ(out.excesses, 0u);
    EXPECT_EQ(out.used, 0);
    expect_all_back();
}

TEST_P(semaphore, never_gives_more_than_there_are_to_processes) {
    if (!GetParam().store->spans_processes()) GTEST_SKIP() << "a store of one process";
    const std::uint64_t rounds = scale(100);
    const shared_page<out_now> out;
    std::vector<child> crowd;
    for (unsigned c = 0; c < 4; ++c)
        crowd.emplace_back([&, c] {
            client mine = make_client();
            counting_semaphore pool{mine, "pool", permits};
            use(pool, *out, rounds, 100 + c);
            return 0;
        });
    for (child& one : crowd) EXPECT_EQ(one.wait(90s), 0);
    EXPECT_GE(out->entries, 4u);
    EXPECT_EQ(out->excesses, 0u);
    expect_all_back();
}

TEST_P(semaphore, all_permits_can_be_out_at_once_each_with_a_token_of_its_own) {
    client locks = make_client();
    client others = make_client();
    counting_semaphore pool{locks, "pool", permits};
    counting_semaphore same_pool{others, "pool", permits};
    std::vector<hold> out;
    out.push_back(pool.acquire());
    out.push_back(same_pool.acquire(2));
    out.push_back(pool.acquire(2));
    for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_TRUE(out[i].valid());
        if (i > 0 && locks.promises().tokens) {
            EXPECT_GT(out[i].token(), out[i - 1].token());
        }
    }

    const attempt refused = pool.try_acquire();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.reason(), errc::busy);
    const auto for_a_while = [&](auto wait) { return same_pool.try_acquire_for(wait); };
    EXPECT_EQ(answer_to(20ms, for_a_while).reason(), errc::timed_out);
    const auto until_then = [&](auto wait) {
        return pool.try_acquire_until(2, std::chrono::steady_clock::now() + wait);
    };
    const auto waited = [](const attempt& said) { return said.reason() != errc::busy; };  // not over before it began
    EXPECT_EQ(answer_to(20ms, until_then, waited).reason(), errc::timed_out);

    EXPECT_EQ(out[1].release(), release_result::released);  // returns both, and nobody else's
    EXPECT_TRUE(out[0].valid());
    EXPECT_FALSE(pool.try_acquire(3));
    EXPECT_TRUE(pool.try_acquire_for(2, plenty));
    out.clear();
    expect_all_back();
}

TEST_P(semaphore, serves_in_the_order_of_arrival) {
    const auto seen = std::make_shared<recording_observer>();
    std::deque<client> locks;
    for (int c = 0; c < 3; ++c) locks.push_back(make_client({.observer = seen}));
    counting_semaphore gate{locks[0], "pool", permits};
    hold all = gate.acquire(permits);

    constexpr int crowd = 9;
    std::vector<int> served;  // guarded by the permits: each takes so many that the next must wait
    std::vector<std::jthread> waiters;
    for (int w = 0; w < crowd; ++w) {
        waiters.emplace_back([&, w] {
            counting_semaphore mine{locks[static_cast<std::size_t>(w) % 3], "pool", permits};
            const hold most = mine.acquire(w % 2 == 0 ? permits : permits - 1);
            served.push_back(w);
        });
        ASSERT_TRUE(seen->wait_for(event_kind::waited, static_cast<std::size_t>(w) + 1, plenty)) << w;
    }
    all.release();
    waiters.clear();
    for (int w = 0; w < crowd; ++w) EXPECT_EQ(served.at(static_cast<std::size_t>(w)), w);
}

TEST_P(semaphore, a_big_request_at_the_head_is_not_overtaken) {
    const auto seen = std::make_shared<recording_observer>();
    client locks = make_client({.observer = seen});
    client others = make_client();
    counting_semaphore pool{locks, "pool", permits};
    counting_semaphore elsewhere{others, "pool", permits};
    hold three = pool.acquire(3);
    std::optional<hold> big;
    std::jthread waits{[&] { big.emplace(pool.acquire(4)); }};
    ASSERT_TRUE(seen->wait_for(event_kind::waited, 1, plenty));

    // Two are free, and one would do.
    const attempt small = elsewhere.try_acquire();
    ASSERT_FALSE(small);
    EXPECT_EQ(small.reason(), errc::busy);
    const auto for_a_while = [&](auto wait) { return elsewhere.try_acquire_for(wait); };
    EXPECT_EQ(answer_to(20ms, for_a_while).reason(), errc::timed_out);

    three.release();
    waits.join();
    ASSERT_TRUE(big->valid());
    EXPECT_TRUE(elsewhere.try_acquire_for(plenty)) << "behind the big one it fits";
}

TEST_P(semaphore, a_cancelled_wait_leaves_nothing_behind) {
    const auto seen = std::make_shared<recording_observer>();
    client locks = make_client({.observer = seen});
    client others = make_client();
    counting_semaphore pool{others, "pool", permits};
    const hold three = pool.acquire(3);
    std::stop_source stop;
    std::error_code said;
    std::jthread waits{[&] {
        counting_semaphore mine{locks, "pool", permits, {.stop = stop.get_token()}};
        static_cast<void>(mine.acquire(4, said));
    }};
    ASSERT_TRUE(seen->wait_for(event_kind::waited, 1, plenty));
    EXPECT_FALSE(pool.try_acquire());
    stop.request_stop();
    waits.join();
    EXPECT_EQ(said, errc::cancelled);
    EXPECT_TRUE(pool.try_acquire_for(2, plenty)) << "what it waited for is nobody's any more";
    EXPECT_EQ(counting_semaphore(locks, "pool", permits, {.stop = stop.get_token()}).try_acquire().reason(),
              errc::cancelled);
}

TEST_P(semaphore, permits_come_back_when_their_lease_ends) {
    client locks = make_client();
    if (!locks.promises().leases) GTEST_SKIP() << "holds of this store do not end by time";
    client others = make_client();
    counting_semaphore fixed{locks, "pool", permits, {.lease = 300ms, .renew = renew::off}};
    hold two = fixed.acquire(2);
    const std::stop_token lost = two.lost();
    counting_semaphore pool{others, "pool", permits};
    const attempt all = pool.try_acquire_for(permits, plenty);
    EXPECT_TRUE(all) << all.refusal().describe();
    EXPECT_FALSE(two.valid());
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
    EXPECT_NE(two.release(), release_result::released);
}

TEST_P(semaphore, permits_of_a_client_that_leaves_come_back_at_once) {
    client others = make_client();
    counting_semaphore pool{others, "pool", permits};
    const hold one = pool.acquire();
    auto locks = std::make_unique<client>(make_client());
    const hold rest = counting_semaphore{*locks, "pool", permits}.acquire(permits - 1);
    ASSERT_FALSE(pool.try_acquire());
    locks.reset();
    EXPECT_TRUE(pool.try_acquire_for(permits - 1, plenty));
    EXPECT_FALSE(rest.valid());
    EXPECT_TRUE(one.valid());
}

TEST_P(semaphore, permits_of_a_killed_process_come_back) {
    if (!GetParam().store->spans_processes()) GTEST_SKIP() << "a store of one process";
    milestone taken;
    child victim{[&] {
        client mine = make_client({.lease = 3s});
        counting_semaphore pool{mine, "pool", permits};
        const hold one = pool.acquire();
        const hold three = pool.acquire(3);
        taken.reach();
        std::this_thread::sleep_for(90s);
        return 0;
    }};
    taken.await();
    client locks = make_client();
    counting_semaphore pool{locks, "pool", permits};
    const hold last = pool.acquire();
    EXPECT_FALSE(pool.try_acquire());
    victim.kill();
    EXPECT_TRUE(pool.try_acquire_for(permits - 1, plenty));
    EXPECT_TRUE(last.valid());
}

TEST_P(semaphore, a_killed_process_at_the_head_of_the_queue_is_not_in_the_way) {
    if (!GetParam().store->spans_processes()) GTEST_SKIP() << "a store of one process";
    milestone taken;
    milestone begun;
    child victim{[&] {  // before there are threads
        taken.await();
        const auto seen = std::make_shared<recording_observer>();
        client mine = make_client({.lease = 3s, .observer = seen});
        std::jthread waits{[&] { const hold never = counting_semaphore{mine, "pool", permits}.acquire(4); }};
        if (seen->wait_for(event_kind::waited, 1, plenty)) begun.reach();
        std::this_thread::sleep_for(90s);
        return 0;
    }};
    client locks = make_client();
    counting_semaphore pool{locks, "pool", permits};
    const hold three = pool.acquire(3);
    taken.reach();
    begun.await();
    EXPECT_FALSE(pool.try_acquire());
    victim.kill();
    EXPECT_TRUE(pool.try_acquire_for(2, plenty));
}

TEST_P(semaphore, users_of_a_name_must_agree_on_its_permits) {
    client locks = make_client();
    client others = make_client();
    counting_semaphore five{locks, "pool", permits};
    counting_semaphore four{others, "pool", permits - 1};
    mutex door{others, "pool"};
    {
        const hold one = five.acquire();
        EXPECT_EQ(four.try_acquire().reason(), errc::kind_mismatch);
        std::error_code ec;
        EXPECT_FALSE(four.acquire(ec));
        EXPECT_EQ(ec, errc::kind_mismatch);
        door.lock(ec);
        EXPECT_EQ(ec, errc::kind_mismatch);
        try {
            static_cast<void>(four.acquire());
            ADD_FAILURE() << "two sizes of one pool";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::kind_mismatch);
            EXPECT_NE(std::string(e.what()).find("'pool'"), std::string::npos) << e.what();
        }
        EXPECT_TRUE(one.valid());
    }
    EXPECT_TRUE(four.try_acquire()) << "out of use, it may change";

    counting_semaphore single{locks, "door", 1};
    mutex same{others, "door"};
    const hold inside = single.acquire();
    EXPECT_FALSE(same.try_lock());
}

class semaphore_input : public store_suite {};
EVERY_STORE(semaphore_input);

TEST_P(semaphore_input, what_a_store_does_not_promise_is_refused_by_name) {
    client locks = make_client();
    const promises& can = locks.promises();
    const auto said = [&](std::ptrdiff_t permits) -> std::error_code {
        try {
            counting_semaphore{locks, "pool", permits};
            return {};
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find("'pool'"), std::string::npos) << e.what();
            return e.code();
        }
    };
    const std::ptrdiff_t most = can.most_capacity;
    if (!can.fifo) {
        EXPECT_EQ(said(1), errc::unsupported);
        return;
    }
    EXPECT_EQ(said(1), std::error_code{});
    EXPECT_EQ(said(most), std::error_code{});
    EXPECT_EQ(said(most + 1), most < std::ptrdiff_t{1} << 31 ? errc::unsupported : errc::invalid_option);
}

TEST_P(semaphore_input, numbers_out_of_range_are_refused_at_once) {
    client locks = make_client();
    if (!locks.promises().fifo || locks.promises().most_capacity < 5) GTEST_SKIP() << "not promised, and refused";
    const auto make = [&](std::ptrdiff_t permits) { counting_semaphore{locks, "pool", permits}; };
    for (const std::ptrdiff_t none :
         {std::ptrdiff_t{0}, std::ptrdiff_t{-1}, PTRDIFF_MIN, PTRDIFF_MAX, (std::ptrdiff_t{1} << 32) + 5}) {
        try {
            make(none);
            ADD_FAILURE() << none;
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_option) << none;
            EXPECT_NE(std::string(e.what()).find(std::to_string(none)), std::string::npos) << e.what();
        }
    }

    counting_semaphore pool{locks, "pool", 5};
    for (const std::ptrdiff_t count : {std::ptrdiff_t{0}, std::ptrdiff_t{-3}, std::ptrdiff_t{6}, PTRDIFF_MAX}) {
        EXPECT_THROW(static_cast<void>(pool.acquire(count)), error) << count;
        EXPECT_THROW(static_cast<void>(pool.try_acquire(count)), error) << count;
        EXPECT_THROW(static_cast<void>(pool.try_acquire_for(count, 1h)), error) << count;
        std::error_code ec;
        EXPECT_FALSE(pool.acquire(count, ec));
        EXPECT_EQ(ec, errc::invalid_option) << count;
    }
    EXPECT_THROW((counting_semaphore{locks, "", 5}), error);
    EXPECT_THROW((counting_semaphore{locks, std::string(201, 'x'), 5}), error);
    EXPECT_THROW((counting_semaphore{locks, "pool", 5, {.lease = 1ns}}), error);
    EXPECT_TRUE(pool.try_acquire(5)) << "nothing of this was taken";
}

}  // namespace
}  // namespace mortise::testing
