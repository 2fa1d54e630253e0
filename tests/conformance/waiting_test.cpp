// P5, P9: not waiting, waiting for a while, for as long as it takes, or until told to stop.
#include "support/waiting.hpp"

#include "conformance/suite.hpp"
#include "support/recording_observer.hpp"

#include <mortise/error.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class waiting : public lock_suite {
protected:
    // A client whose `waited` events the test can wait for.
    client make_watched_client() const { return make_client({.observer = seen_}); }
    bool somebody_waits(std::size_t n = 1) const { return seen_->wait_for(event_kind::waited, n, plenty); }

private:
    std::shared_ptr<recording_observer> seen_ = std::make_shared<recording_observer>();
};
EVERY_STORE_AND_KIND(waiting);

TEST_P(waiting, try_lock_answers_no_while_another_client_holds) {
    client locks = make_client();
    client others = make_client();
    const auto mine = make_lock(locks, "n");
    const auto theirs = make_lock(others, "n");
    ASSERT_TRUE(mine->try_lock());
    EXPECT_FALSE(theirs->try_lock());
    EXPECT_FALSE(theirs->try_lock_for(-5s));
    EXPECT_FALSE(theirs->try_lock_until(std::chrono::steady_clock::time_point::min()));
    mine->unlock();
    EXPECT_TRUE(gets_what_was_unlocked([&] { return theirs->try_lock(); }));
}

TEST_P(waiting, try_lock_answers_no_while_another_thread_of_the_client_holds) {
    client locks = make_client();
    const auto lock = make_lock(locks, "n");
    lock->lock();
    std::thread{[&] { EXPECT_FALSE(lock->try_lock()); }}.join();
    lock->unlock();
    std::thread{[&] {
        EXPECT_TRUE(lock->try_lock());
        lock->unlock();
    }}.join();
}

TEST_P(waiting, a_bounded_wait_lasts_as_long_as_it_says) {
    client locks = make_client();
    client others = make_client();
    const auto mine = make_lock(locks, "n");
    const auto theirs = make_lock(others, "n");
    meet_the_store(others);
    mine->lock();
    const auto before = boot_clock::now();
    EXPECT_FALSE(answer_to(150ms, [&](auto wait) { return theirs->try_lock_for(wait); }));
    EXPECT_GE(boot_clock::now() - before, 150ms);
    EXPECT_FALSE(
        answer_to(50ms, [&](auto wait) { return theirs->try_lock_until(std::chrono::steady_clock::now() + wait); }));
    EXPECT_TRUE(mine->hold().valid());
}

TEST_P(waiting, a_bounded_wait_ends_with_the_lock_when_it_is_freed_in_time) {
    client locks = make_client();
    client others = make_watched_client();
    const auto mine = make_lock(locks, "n");
    mine->lock();
    std::atomic<bool> got = false;
    std::jthread waiter{[&] {
        const auto theirs = make_lock(others, "n");
        got = theirs->try_lock_for(plenty);
        if (got) theirs->unlock();
    }};
    ASSERT_TRUE(somebody_waits());
    EXPECT_FALSE(got);
    mine->unlock();
    waiter.join();
    EXPECT_TRUE(got);
}

TEST_P(waiting, a_blocking_wait_ends_with_the_lock) {
    client locks = make_client();
    client others = make_watched_client();
    const auto mine = make_lock(locks, "n");
    mine->lock();
    std::atomic<bool> got = false;
    std::jthread waiter{[&] {
        const auto theirs = make_lock(others, "n");
        theirs->lock();
        got = theirs->hold().valid();
        theirs->unlock();
    }};
    ASSERT_TRUE(somebody_waits());
    EXPECT_FALSE(got);
    mine->unlock();
    waiter.join();
    EXPECT_TRUE(got);
}

TEST_P(waiting, a_stop_token_ends_the_wait_and_leaves_no_waiter) {
    client locks = make_client();
    client others = make_watched_client();
    const auto mine = make_lock(locks, "n");
    mine->lock();
    std::stop_source stop;
    std::error_code why;
    std::jthread waiter{[&] { make_lock(others, "n", {.stop = stop.get_token()})->lock(why); }};
    ASSERT_TRUE(somebody_waits());
    stop.request_stop();
    waiter.join();
    EXPECT_EQ(why, errc::cancelled);
    EXPECT_EQ(why, std::errc::operation_canceled);
    EXPECT_TRUE(mine->hold().valid());

    // A waiter left behind would be next, and would keep the lock until its lease ends.
    mine->unlock();
    client third = make_client();
    const auto free = make_lock(third, "n");
    EXPECT_TRUE(free->try_lock_for(plenty));
}

TEST_P(waiting, a_stop_that_came_before_the_wait_is_obeyed) {
    client locks = make_client();
    std::stop_source stop;
    stop.request_stop();
    std::error_code why;
    const auto lock = make_lock(locks, "n", {.stop = stop.get_token()});
    lock->lock(why);
    EXPECT_EQ(why, errc::cancelled);
    EXPECT_TRUE(make_lock(locks, "n")->try_lock());
}

TEST_P(waiting, a_wait_that_timed_out_leaves_no_waiter) {
    client locks = make_client();
    client others = make_client();
    meet_the_store(others);
    const auto mine = make_lock(locks, "n");
    mine->lock();
    EXPECT_FALSE(answer_to(300ms, [&](auto wait) { return make_lock(others, "n")->try_lock_for(wait); }));
    mine->unlock();
    client third = make_client();
    EXPECT_TRUE(make_lock(third, "n")->try_lock_for(plenty));
}

TEST_P(waiting, closing_the_client_ends_its_waits) {
    client locks = make_client();
    auto others = std::make_unique<client>(make_watched_client());
    const auto mine = make_lock(locks, "n");
    mine->lock();
    std::error_code why;
    const auto theirs = make_lock(*others, "n");
    std::jthread waiter{[&] { theirs->lock(why); }};
    ASSERT_TRUE(somebody_waits());
    others.reset();
    waiter.join();
    EXPECT_EQ(why, errc::closed);
    mine->unlock();
    client third = make_client();
    EXPECT_TRUE(make_lock(third, "n")->try_lock_for(plenty));
}

// Counts what a store is asked.
class counting_store final : public spi::store_wrapper {
public:
    counting_store(const spi::context& outer, const spi::store_factory& inner, std::atomic<int>& claims)
        : store_wrapper(outer, inner), claims_(claims) {}
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        ++claims_;
        store_wrapper::claim(wanted, std::move(done));
    }

private:
    std::atomic<int>& claims_;
};

class polling_waiters : public store_suite {};
EVERY_STORE(polling_waiters);

TEST_P(polling_waiters, ask_at_most_six_times_a_second) {
    if (can().pushes) GTEST_SKIP() << "the store tells waiters that their turn has come";
    std::atomic<int> claims{0};
    client locks = make_client();
    client others = spi::make_client(
        [&](const spi::context& outer) { return std::make_unique<counting_store>(outer, store_at_url(), claims); }, {},
        patient());
    hold mine = locks.acquire("n");
    std::atomic<bool> granted{false};
    others.start({.name = "n"}, [&](const attempt& got) { granted = bool(got); });
    EXPECT_TRUE(eventually([&] { return claims >= 5; }, plenty)) << "soon at first";
    claims = 0;
    std::this_thread::sleep_for(3s);
    EXPECT_LE(claims, 3 * 6);
    EXPECT_GE(claims, 1);
    EXPECT_FALSE(granted);
    mine.release();
    EXPECT_TRUE(eventually([&] { return granted.load(); }, plenty));
}

// C11: sixteen writers, each with one write per round, all at the same moment.
class writers : public lock_suite {
protected:
    static constexpr int crowd = 16;
    static constexpr int times = 5;

    struct tally {
        int written = 0;
        int given_up = 0;
    };

    // Whoever is inside stays until everybody has tried, if `together`.
    template <class Take>
    tally write(Take take, bool together) {
        client locks[] = {make_client(), make_client()};
        tally sum;
        std::atomic<int> given_up = 0;
        std::barrier start{crowd};
        std::barrier tried{crowd};
        {
            std::vector<std::jthread> threads;
            for (int w = 0; w < crowd; ++w)
                threads.emplace_back([&, w] {
                    const auto lock = make_lock(locks[w % 2], "document");
                    for (int r = 0; r < times; ++r) {
                        start.arrive_and_wait();
                        const bool got = take(*lock);
                        if (together) tried.arrive_and_wait();
                        if (!got) {
                            ++given_up;
                            continue;
                        }
                        ++sum.written;
                        lock->unlock();
                    }
                });
        }
        sum.given_up = given_up;
        return sum;
    }
};
EVERY_STORE_AND_KIND(writers);

TEST_P(writers, that_try_once_lose_their_writes) {
    const tally sum = write([](lock_driver& lock) { return lock.try_lock(); }, true);
    EXPECT_EQ(sum.written, times) << "one writer per round gets in";
    EXPECT_EQ(sum.given_up, times * (crowd - 1));
}

TEST_P(writers, that_wait_for_a_while_lose_none) {
    const tally sum = write([](lock_driver& lock) { return lock.try_lock_for(plenty); }, false);
    EXPECT_EQ(sum.written, times * crowd);
    EXPECT_EQ(sum.given_up, 0);
}

}  // namespace
}  // namespace mortise::testing
