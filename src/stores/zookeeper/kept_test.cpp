// Locks that a client keeps while they are idle (claim_options::keep): what only ZooKeeper shows. See
// tests/conformance/keep_test.cpp.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/zookeeper/servers/suite.hpp"
#include "support/turns.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace servers;
using testing::once;
using testing::once_reading;
using testing::tcp_proxy;
using testing::way;

// So long that no test sees the end of it.
claim_options kept_long() {
    return {.keep = keep::idle(60s)};
}

class zookeeper_kept : public on_one_server {
protected:
    // How often the keeper locks it until somebody else has had it. If it is not told, it asks the servers after 1,023 turns.
    static constexpr std::size_t few = 900;
    template <class Guard = std::scoped_lock<mutex>, class Lock, class Ask>
    static std::size_t turns_until(Lock& m, std::chrono::milliseconds each, Ask others_get_it) {
        std::atomic<bool> had{false};
        const std::jthread asks{[&] {
            while (!others_get_it()) std::this_thread::sleep_for(1ms);
            had = true;
        }};
        std::size_t turns = 0;
        for (; !had; ++turns) {
            const Guard guard{m};
            std::this_thread::sleep_for(each);
        }
        return turns;
    }
    std::string data_of(const std::string& name) { return operator_.data(root_ + "/" + name); }

    client mine_{url()};
    client other_{url()};
};

// It is given back when its renewal is due, after four seconds: a machine that stands still may see that.
TEST_F(zookeeper_kept, costs_nothing_while_nobody_else_asks) {
    mutex m{mine_, "n", kept_long()};
    token latest = once(m);
    std::set<std::uint64_t> grants;
    for (int turn = 0; turn < 500; ++turn) {
        const token next = once(m);
        EXPECT_GT(next, latest);
        grants.insert(next.counter());
        latest = next;
    }
    EXPECT_LT(grants.size(), 10u);
}

TEST_F(zookeeper_kept, in_use_leaves_nothing_of_those_who_did_not_wait) {
    mutex m{mine_, "n", kept_long()};
    m.lock();
    const std::string node = only_node("n");
    const token held = m.hold().token();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(other_.try_acquire("n").reason(), errc::busy);
    EXPECT_EQ(only_node("n"), node);
    EXPECT_TRUE(m.hold().valid());
    m.unlock();
    attempt theirs = other_.try_acquire("n", {.wait = plenty});
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_GT(theirs->token(), held);
}

TEST_F(zookeeper_kept, goes_after_a_while_though_nobody_is_told) {
    tcp_proxy proxy{node().port()};
    client far{url(proxy.port())};
    mutex m{far, "n", {.keep = keep::idle(500ms)}};
    once(m);
    EXPECT_TRUE(eventually([&] { return line("n").empty(); })) << "given back";
    once(m);
    proxy.swallow(way::to_client);
    attempt theirs = other_.try_acquire("n", {.wait = plenty});
    EXPECT_TRUE(theirs) << theirs.refusal().describe();
    proxy.swallow(way::to_client, false);
    proxy.cut();
}

TEST_F(zookeeper_kept, goes_with_the_next_unlock_once_somebody_waits) {
    mutex m{mine_, "n", kept_long()};
    once(m);
    EXPECT_LT(turns_until(m, 1ms, [&] { return static_cast<bool>(other_.try_acquire("n", {.wait = plenty})); }), few);
}

// Its sign comes and goes between the keeper's listing and its watch, and it makes no other.
TEST_F(zookeeper_kept, goes_to_who_asked_before_the_keeper_listened) {
    tcp_proxy proxy{node().port()};
    client far{url(proxy.port())};
    mutex m{far, "n", kept_long()};
    static_cast<void>(far.acquire("first"));
    static_cast<void>(other_.acquire("first"));
    proxy.delay(way::to_server, 300ms);
    m.lock();
    EXPECT_EQ(other_.try_acquire("n").reason(), errc::busy);
    m.unlock();
    // When it is to be renewed, after some 300, it goes anyway.
    EXPECT_LT(turns_until(m, 10ms, [&] { return static_cast<bool>(other_.try_acquire("n")); }), 150u);
    proxy.delay(way::to_server, 0ms);
}

class zookeeper_kept_reads : public zookeeper_kept {
protected:
    // Other readers have come and gone meanwhile, which is nothing to the keeper.
    void SetUp() override {
        once_reading(ours_);
        client third{url()};
        shared_mutex beside{third, "n"};
        for (int i = 0; i < 3; ++i) once_reading(beside);
    }
    // How often the keeper reads until then.
    template <class Ask>
    static std::size_t reads_until(shared_mutex& ours, Ask others_get_it) {
        return turns_until<std::shared_lock<shared_mutex>>(ours, 1ms, others_get_it);
    }

    shared_mutex ours_{mine_, "n", kept_long()};
    shared_mutex theirs_{other_, "n"};
};

TEST_F(zookeeper_kept_reads, go_to_a_writer_who_waits) {
    EXPECT_LT(reads_until(ours_, [&] { return static_cast<bool>(theirs_.try_acquire({.wait = plenty})); }), few);
}

TEST_F(zookeeper_kept_reads, go_to_a_writer_who_asks_again_and_again) {
    EXPECT_LT(reads_until(ours_, [&] { return static_cast<bool>(theirs_.try_acquire()); }), few);
}

TEST_F(zookeeper_kept_reads, go_to_a_writer_who_waited_and_has_left) {
    ours_.lock_shared();
    EXPECT_TRUE(eventually([&] {
        EXPECT_FALSE(theirs_.try_lock_for(50ms));  // on a busy machine it may not get as far as to see who holds it
        return data_of("n") == "a";
    }));
    ours_.unlock_shared();
    EXPECT_TRUE(eventually([&] { return line("n").empty(); }));
}

TEST_F(zookeeper_kept_reads, are_asked_for_by_a_mark_that_hides_no_exchange) {
    shared_mutex theirs{other_, "exchanged"};
    theirs.lock_upgradeable();
    theirs.upgrade();
    theirs.downgrade_to_shared();
    EXPECT_EQ(data_of("exchanged"), "");
    shared_mutex ours{mine_, "exchanged", kept_long()};
    const token kept_since = once_reading(ours);
    theirs.unlock_shared();
    EXPECT_LT(reads_until(ours,
                          [&] {
                              attempt got = theirs.try_acquire();
                              if (!got) return false;
                              EXPECT_EQ(data_of("exchanged"), "");
                              EXPECT_GT(got->token(), kept_since);
                              return true;
                          }),
              few);
}

TEST_F(zookeeper_kept, survives_that_the_connection_breaks) {
    tcp_proxy proxy{node().port()};
    client far{url(proxy.port())};
    mutex m{far, "n", kept_long()};
    token latest = once(m);
    for (int i = 0; i < 5; ++i) {
        proxy.cut();
        const token next = once(m);
        EXPECT_GT(next, latest);
        attempt theirs = other_.try_acquire("n", {.wait = 70s});  // longer than it is kept: it may not have heard
        ASSERT_TRUE(theirs) << theirs.refusal().describe();
        EXPECT_GT(theirs->token(), next);
        latest = theirs->token();
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
