// Locks that a client keeps while they are idle (claim_options::keep): what only Redis shows. See tests/conformance/keep_test.cpp.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/redis/servers/suite.hpp"
#include "support/turns.hpp"

#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

using mortise::testing::eventually;
using mortise::testing::once;
using mortise::testing::once_reading;
using mortise::testing::tcp_proxy;
using mortise::testing::way;

// So long that no test sees the end of it.
claim_options kept_long() {
    return {.lease = 10min, .keep = keep::idle(60s)};
}

class redis_kept : public on_one_server {
protected:
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

TEST_F(redis_kept, reads_ask_nothing_while_nobody_writes) {
    shared_mutex ours{mine_, "x", kept_long()};
    shared_mutex theirs{other_, "x", kept_long()};
    const token mine = once_reading(ours);
    const token his = once_reading(theirs);
    const auto before = calls_of("evalsha");
    for (std::uint64_t turn = 1; turn <= 500; ++turn) {
        EXPECT_EQ(once_reading(ours), token::of(mine.counter(), turn));
        EXPECT_EQ(once_reading(theirs), token::of(his.counter(), turn));
    }
    EXPECT_EQ(calls_of("evalsha"), before);
    EXPECT_EQ(held("x").size(), 2u);
}

// The script that tells all keepers of a crowd finds them whether the record lists them or not.
TEST_F(redis_kept, reads_of_a_crowd_go_to_a_writer) {
    for (const std::size_t crowd : {std::size_t{2}, std::size_t{3}, std::size_t{100}}) {
        std::vector<std::unique_ptr<shared_mutex>> all;
        std::vector<hold> never_kept;
        const std::string name = "x" + std::to_string(crowd);
        shared_mutex plain{other_, name};
        never_kept.push_back(plain.acquire_shared());
        for (std::size_t i = 0; i < crowd; ++i) {
            all.push_back(std::make_unique<shared_mutex>(i % 2 == 0 ? mine_ : other_, name, kept_long()));
            once_reading(*all.back());
        }
        EXPECT_EQ(held(name).size(), crowd + 1);
        never_kept.clear();
        client writer{url()};
        shared_mutex m{writer, name};
        EXPECT_TRUE(m.try_lock_for(30s));
        m.unlock();
        EXPECT_TRUE(held(name).empty());
        EXPECT_TRUE(all.front()->try_lock());
        all.front()->unlock();
    }
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

}  // namespace
}  // namespace mortise::stores::redis::servers
