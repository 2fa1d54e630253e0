// Processes that are killed, stopped and forked: who holds and who waits then. The storms do the same at random.
#include "stores/host/ledger_access.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/host_suite.hpp"

#include <mortise/mutex.hpp>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;

class host_liveness : public host_suite {};

TEST_F(host_liveness, a_killed_holder_frees_its_lock) {
    child other = holder();
    client locks{url_};
    const attempt refused = locks.try_acquire("x");
    ASSERT_EQ(refused.reason(), errc::busy);
    EXPECT_EQ(refused.refusal().holder.value().pid, other.pid());
    other.kill();
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_liveness, a_waiter_is_served_when_the_holder_is_killed) {
    child other = holder();
    client locks{url_};
    std::atomic<bool> got{false};
    std::thread waiter{[&] { got = static_cast<bool>(locks.acquire("x", {.wait = 20s})); }};
    std::this_thread::sleep_for(30ms);
    EXPECT_FALSE(got);
    other.kill();
    waiter.join();
    EXPECT_TRUE(got);
}

TEST_F(host_liveness, a_killed_waiter_leaves_the_queue) {
    client locks{url_};
    client onlooker{url_};
    hold mine = locks.acquire("x");
    child waiter{[&] {
        client own{url_};
        static_cast<void>(own.acquire("x"));
        return 0;
    }};
    ASSERT_TRUE(eventually([&] { return onlooker.try_acquire("x").refusal().place == 2u; }));
    waiter.kill();
    EXPECT_TRUE(eventually([&] { return onlooker.try_acquire("x").refusal().place == 1u; }))
        << onlooker.try_acquire("x").refusal().describe();
    mine.release();
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_liveness, the_dead_are_passed_over_wherever_they_stand_in_the_queue) {
    child first = holder();
    child dead_at_the_head = waiter(1);
    milestone granted;
    milestone done;
    child alive = waiter(2, [&](const hold& its) {
        granted.reach(its.valid() ? 'y' : 'n');
        done.await();
        return its.valid() ? 0 : 1;
    });
    child dead_in_the_middle = waiter(3);
    child another_one = waiter(4);
    client locks{url_};
    std::atomic<bool> got{false};
    std::thread last{[&] { got = static_cast<bool>(locks.acquire("x", {.wait = 60s})); }};
    client onlooker{url_};
    EXPECT_TRUE(eventually([&] { return onlooker.try_acquire("x").refusal().place == 6u; }));

    dead_at_the_head.kill();
    dead_in_the_middle.kill();
    another_one.kill();
    first.kill();
    EXPECT_EQ(granted.await(), 'y');
    EXPECT_EQ(onlooker.try_acquire("x").refusal().holder.value().pid, alive.pid());
    EXPECT_FALSE(got);
    done.reach();
    EXPECT_EQ(alive.wait(), 0);
    last.join();
    EXPECT_TRUE(got);
}

// A dead holder that used the name for something else is in nobody's way.
TEST_F(host_liveness, a_killed_holder_of_another_kind_frees_the_name) {
    milestone ready;
    child other{[&] {
        client locks{url_};
        locks.start({.name = "x", .capacity = 5, .weight = 2}, [&](attempt got) {
            static hold kept;
            kept = *std::move(got);
            ready.reach();
        });
        ::pause();
        return 0;
    }};
    ready.await();
    client locks{url_};
    EXPECT_EQ(locks.try_acquire("x").reason(), errc::kind_mismatch);
    other.kill();
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_liveness, a_stopped_holder_still_holds_without_a_lease) {
    child other{[&] {
        client locks{url_};
        const hold mine = locks.acquire("x");
        ::raise(SIGSTOP);
        return mine.valid() ? 0 : 1;
    }};
    ASSERT_TRUE(other.stopped());
    client locks{url_};
    EXPECT_EQ(locks.try_acquire("x", {.wait = 300ms}).reason(), errc::timed_out);
    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(host_liveness, a_stopped_holder_with_a_lease_learns_on_waking_that_it_is_over) {
    child other{[&] {
        client locks{url_};
        const hold mine = locks.acquire("x", {.lease = 200ms});
        if (!mine.valid()) return 1;
        ::raise(SIGSTOP);
        return mine.valid() ? 2 : 0;
    }};
    ASSERT_TRUE(other.stopped());
    client locks{url_};
    const attempt got = locks.try_acquire("x", {.wait = 20s});
    EXPECT_TRUE(got);
    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(host_liveness, a_process_stopped_inside_the_store_is_named_and_all_goes_on_after_it) {
    child culprit{[&] {
        const auto kept = open_ledger({directory_, true});
        ledger_access in{*kept};
        ::raise(SIGSTOP);
        return 0;
    }};
    ASSERT_TRUE(culprit.stopped());
    client locks{url_};
    const attempt got = locks.try_acquire("x", {.wait = 20s});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_NE(got.refusal().describe().find("pid " + std::to_string(culprit.pid())), std::string::npos)
        << got.refusal().describe();
    culprit.tell(SIGCONT);
    EXPECT_EQ(culprit.wait(), 0);
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_liveness, a_client_that_leaves_while_the_store_is_stuck_leaves_no_hold_behind) {
    std::optional<client> leaving{std::in_place, url_};
    const hold mine = leaving->acquire("x");
    child culprit{[&] {
        const auto kept = open_ledger({directory_, true});
        ledger_access in{*kept};
        ::raise(SIGSTOP);
        return 0;
    }};
    ASSERT_TRUE(culprit.stopped());
    leaving.reset();
    culprit.tell(SIGCONT);
    EXPECT_EQ(culprit.wait(), 0);
    client locks{url_};
    const attempt got = locks.try_acquire("x", {.wait = 20s});
    EXPECT_TRUE(got) << got.refusal().describe();
}

// It did not ask to be stopped when its turn came. Nobody is let in before it, and it goes on where it was.
TEST_F(host_liveness, a_waiter_that_is_stopped_is_served_all_the_same) {
    child first = holder();
    child next = waiter(1, [](const hold& its) { return its.valid() ? 0 : 1; });
    next.tell(SIGSTOP);
    ASSERT_TRUE(next.stopped());
    first.kill();
    client locks{url_};
    const attempt refused = locks.try_acquire("x", {.wait = 300ms});
    ASSERT_EQ(refused.reason(), errc::timed_out);
    EXPECT_EQ(locks.try_acquire("x").refusal().holder.value().pid, next.pid());
    next.tell(SIGCONT);
    EXPECT_EQ(next.wait(), 0);
    EXPECT_TRUE(locks.try_acquire("x", {.wait = 20s}));
}

TEST_F(host_liveness, a_child_of_a_holder_makes_a_client_of_its_own) {
    client locks{url_};
    const hold mine = locks.acquire("x");
    child heir{[&] {
        client own{url_};
        if (own.try_acquire("x").reason() != errc::busy) return 1;
        static_cast<void>(own.acquire("y"));
        const hold kept = own.acquire("z");
        ::_exit(kept.valid() ? 0 : 2);
    }};
    EXPECT_EQ(heir.wait(), 0);
    EXPECT_TRUE(mine.valid());
    EXPECT_TRUE(locks.try_acquire("z")) << "the child's hold went with the child, though its parent lives";
    child stranger{[&] {
        client own{url_};
        return own.try_acquire("x").reason() == errc::busy ? 0 : 1;
    }};
    EXPECT_EQ(stranger.wait(), 0);
}

TEST_F(host_liveness, what_a_killed_process_left_is_swept_by_the_next_that_comes) {
    child untidy{[&] {
        client locks{url_};
        client more{url_};
        std::vector<hold> held;
        for (int n = 0; n < 300; ++n) held.push_back(locks.acquire("name " + std::to_string(n)));
        held.push_back(more.acquire("another"));
        ::raise(SIGKILL);
        return 0;
    }};
    ASSERT_EQ(untidy.wait(), -SIGKILL);
    { EXPECT_TRUE(client{url_}.try_acquire("x")); }
    EXPECT_EQ(open_ledger({directory_, true})->blocks_in_use(), 0u);
    for (const auto& file : std::filesystem::directory_iterator(directory_))
        EXPECT_FALSE(file.path().filename().string().starts_with("bell-")) << file.path().filename();
}

}  // namespace
}  // namespace mortise::stores::host
