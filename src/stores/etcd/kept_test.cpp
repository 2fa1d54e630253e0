// Locks that a client keeps while they are idle (claim_options::keep): what only etcd shows. See tests/conformance/keep_test.cpp.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/etcd/servers/suite.hpp"
#include "support/turns.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using testing::eventually;
using testing::once;
using testing::once_reading;
using testing::tcp_proxy;
using testing::way;
using namespace std::chrono_literals;

// So long that no test sees the end of it.
claim_options kept_long() {
    return {.lease = 10min, .keep = keep::idle(60s)};
}

class etcd_kept : public servers::on_members<1> {
protected:
    // What stands below the prefix, with its revisions.
    std::string all_keys() const {
        const std::string said = all().member(0).command("get --prefix --write-out=fields '" + prefix_ + "/'");
        return said.substr(said.find("\"Key\""));
    }

    client mine_{url()};
    client other_{url()};
};

TEST_F(etcd_kept, costs_nothing_while_nobody_else_asks) {
    mutex m{mine_, "n", kept_long()};
    const token first = once(m);
    const std::string before = all_keys();
    EXPECT_THAT(before, ::testing::HasSubstr(" keeps"));
    for (std::uint64_t turn = 1; turn <= 500; ++turn) EXPECT_EQ(once(m), token::of(first.counter(), turn));
    EXPECT_EQ(all_keys(), before);
}

TEST_F(etcd_kept, reads_cost_nothing_while_nobody_writes) {
    shared_mutex ours{mine_, "n", kept_long()};
    shared_mutex theirs{other_, "n", kept_long()};
    const token mine = once_reading(ours);
    const token his = once_reading(theirs);
    const std::string before = all_keys();
    for (std::uint64_t turn = 1; turn <= 500; ++turn) {
        EXPECT_EQ(once_reading(ours), token::of(mine.counter(), turn));
        EXPECT_EQ(once_reading(theirs), token::of(his.counter(), turn));
    }
    EXPECT_EQ(all_keys(), before);
    client third{url()};
    shared_mutex writes{third, "n"};
    EXPECT_TRUE(writes.try_lock_for(30s));
    EXPECT_EQ(keys_of(prefix_), 1u) << "its own";
    writes.unlock();
}

// Who does not wait touches one key, and all who keep one hear of it.
TEST_F(etcd_kept, reads_of_several_go_to_a_writer_who_does_not_wait) {
    shared_mutex ours{mine_, "n", kept_long()};
    shared_mutex theirs{other_, "n", kept_long()};
    once_reading(ours);
    once_reading(theirs);
    client third{url()};
    shared_mutex writes{third, "n"};
    EXPECT_TRUE(eventually([&] { return writes.try_lock(); }));
    writes.unlock();
}

TEST_F(etcd_kept, in_use_leaves_nothing_of_those_who_did_not_wait) {
    mutex m{mine_, "n", kept_long()};
    m.lock();
    const token held = m.hold().token();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(other_.try_acquire("n").reason(), errc::busy);
    EXPECT_EQ(keys_of(prefix_), 1u);
    EXPECT_THAT(all_keys(), ::testing::HasSubstr("\"Version\" : 2\n")) << "touched once, however often it is asked for";
    EXPECT_TRUE(m.hold().valid());
    EXPECT_EQ(m.hold().token(), held);
    EXPECT_EQ(other_.list().at(0).holder.token, token::of(held.counter(), 0));
    m.unlock();
    attempt theirs = other_.try_acquire("n", {.wait = 30s});
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_GT(theirs->token(), held);
}

// The operator reads its key, and before he deletes it somebody asks, which writes to it.
TEST_F(etcd_kept, is_broken_though_somebody_asks_meanwhile) {
    tcp_proxy proxy{all().member(0).port()};
    client far{url_at(proxy.port())};
    static_cast<void>(far.list());
    mutex m{mine_, "n", kept_long()};
    m.lock();
    proxy.delay(way::to_server, 300ms);
    std::error_code failed;
    auto broken = std::async(std::launch::async,
                             [&, held = m.hold().token()] { return far.break_lock("n", held, "a test", failed); });
    std::this_thread::sleep_for(450ms);
    EXPECT_EQ(other_.try_acquire("n").reason(), errc::busy);
    EXPECT_TRUE(broken.get()) << failed.message();
    EXPECT_TRUE(eventually([&] { return !m.hold().valid(); }));
    std::error_code lost;
    m.unlock(lost);
    EXPECT_EQ(lost, errc::lost);
}

TEST_F(etcd_kept, goes_after_a_while_though_nobody_is_told) {
    tcp_proxy proxy{all().member(0).port()};
    client far{url_at(proxy.port())};
    mutex m{far, "n", {.lease = 10min, .keep = keep::idle(500ms)}};
    once(m);
    EXPECT_TRUE(eventually([&] { return keys_of(prefix_) == 0; })) << "given back";
    once(m);
    proxy.swallow(way::to_client);
    attempt theirs = other_.try_acquire("n", {.wait = 30s});
    EXPECT_TRUE(theirs) << theirs.refusal().describe();
    proxy.swallow(way::to_client, false);
    proxy.cut();
}

TEST_F(etcd_kept, survives_that_the_connection_breaks) {
    tcp_proxy proxy{all().member(0).port()};
    client far{url_at(proxy.port())};
    mutex m{far, "n", kept_long()};
    token latest = once(m);
    for (int i = 0; i < 5; ++i) {
        proxy.cut();
        const token next = once(m);
        EXPECT_GT(next, latest);
        attempt theirs = other_.try_acquire("n", {.wait = 70s});  // longer than it is kept
        ASSERT_TRUE(theirs) << theirs.refusal().describe();
        EXPECT_GT(theirs->token(), next);
        latest = theirs->token();
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
