// Locks that a client keeps while they are idle (claim_options::keep), on a real server: nothing is asked, and nobody waits for them.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/redis/servers/suite.hpp"

#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::eventually;
using mortise::testing::tcp_proxy;
using mortise::testing::way;

// So long that no test sees the end of it.
claim_options kept_long() {
    return {.lease = 10min, .keep = keep::idle(60s)};
}

class redis_kept : public on_one_server {
protected:
    static token once(mutex& m) {
        const std::scoped_lock guard{m};
        EXPECT_TRUE(m.hold().valid());
        return m.hold().token();
    }

    client mine_{url()};
    client other_{url()};
};

TEST_F(redis_kept, asks_nothing_while_nobody_else_does) {
    mutex m{mine_, "x", kept_long()};
    const token first = once(m);
    const auto before = calls_of("evalsha");
    for (std::uint64_t turn = 1; turn <= 500; ++turn) EXPECT_EQ(once(m), token::of(first.counter(), turn));
    EXPECT_EQ(calls_of("evalsha"), before);
    ASSERT_EQ(held("x").size(), 1u) << "to everybody else it is held";
}

TEST_F(redis_kept, goes_at_once_to_whoever_waits) {
    mutex m{mine_, "x", kept_long()};
    const token first = once(m);
    attempt theirs = other_.try_acquire("x", {.wait = 30s});  // half of what it would be kept for
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_GT(theirs->token(), first);
    EXPECT_FALSE(m.try_lock());
}

TEST_F(redis_kept, goes_to_who_asks_again_and_again) {
    mutex ours{mine_, "x", kept_long()};
    once(ours);
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(other_.try_acquire("x")); }));
}

TEST_F(redis_kept, goes_to_a_reader) {
    shared_mutex ours{mine_, "x", kept_long()};
    ours.lock();
    ours.unlock();
    shared_mutex theirs{other_, "x"};
    EXPECT_TRUE(theirs.try_lock_shared_for(30s));
    theirs.unlock_shared();
}

TEST_F(redis_kept, in_use_goes_with_its_next_unlock) {
    mutex m{mine_, "x", kept_long()};
    once(m);
    m.lock();
    auto waits = std::async(std::launch::async, [&] { return other_.try_acquire("x", {.wait = 30s}); });
    EXPECT_TRUE(await_waiting("x", 1));
    EXPECT_TRUE(m.hold().valid());
    m.unlock();
    EXPECT_TRUE(waits.get());
}

TEST_F(redis_kept, that_was_in_line_is_not_kept) {
    hold theirs = other_.acquire("x");
    mutex m{mine_, "x", kept_long()};
    std::jthread waits{[&] { once(m); }};
    EXPECT_TRUE(await_waiting("x", 1));
    std::jthread behind{[&] { EXPECT_TRUE(other_.try_acquire("x", {.wait = 30s, .hand_over = hand_over::off})); }};
    EXPECT_TRUE(await_waiting("x", 2));
    theirs.release();
}

TEST_F(redis_kept, goes_after_a_while_though_nobody_is_told) {
    tcp_proxy proxy{node().port()};
    client far{url(proxy.port())};
    mutex m{far, "x", {.lease = 10min, .keep = keep::idle(500ms)}};
    once(m);
    EXPECT_TRUE(eventually([&] { return held("x").empty(); })) << "given back";
    once(m);
    proxy.swallow(way::to_client);
    attempt theirs = other_.try_acquire("x", {.wait = 30s});
    EXPECT_TRUE(theirs) << theirs.refusal().describe();
    proxy.swallow(way::to_client, false);
    proxy.cut();
}

TEST_F(redis_kept, ends_with_its_lock_and_its_client) {
    {
        mutex m{mine_, "x", kept_long()};
        once(m);
    }
    EXPECT_TRUE(eventually([&] { return held("x").empty(); }));
    {
        client brief{url()};
        mutex m{brief, "x", kept_long()};
        once(m);
        client gone = std::move(brief);
    }
    EXPECT_TRUE(eventually([&] { return held("x").empty(); }));
}

TEST_F(redis_kept, survives_that_the_connection_breaks) {
    tcp_proxy proxy{node().port()};
    client far{url(proxy.port())};
    mutex m{far, "x", kept_long()};
    token latest = once(m);
    for (int i = 0; i < 5; ++i) {
        proxy.cut();
        const token next = once(m);
        EXPECT_GT(next, latest);
        latest = next;
        attempt theirs = other_.try_acquire("x", {.wait = 70s});  // longer than it is kept: it may not have heard
        ASSERT_TRUE(theirs) << theirs.refusal().describe();
        EXPECT_GT(theirs->token(), latest);
        latest = theirs->token();
    }
}

TEST_F(redis_kept, excludes_threads_and_clients) {
    std::uint64_t count = 0;
    token latest;
    std::atomic<int> inside{0};
    std::atomic<int> wrong{0};
    const claim_options brief{.keep = keep::idle(2ms)};
    mutex shared_by_two{mine_, "x", brief};
    const auto work = [&](mutex& m, int pauses) {
        for (int i = 0; i < 500; ++i) {
            {
                const std::scoped_lock guard{m};
                if (inside.fetch_add(1) != 0) ++wrong;
                if (m.hold().token() <= latest) ++wrong;
                latest = m.hold().token();
                ++count;
                inside.fetch_sub(1);
            }
            if (i % pauses == 0)
                std::this_thread::sleep_for(std::chrono::milliseconds{i / 5});  // the others are alone meanwhile
        }
    };
    {
        std::vector<std::jthread> all;
        for (int n = 0; n < 2; ++n) all.emplace_back([&] { work(shared_by_two, 100); });
        all.emplace_back([&] {
            mutex own{other_, "x", brief};
            work(own, 50);
        });
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(count, 1500u);
    EXPECT_TRUE(eventually([&] { return held("x").empty(); }));
}

}  // namespace
}  // namespace mortise::stores::redis::servers
