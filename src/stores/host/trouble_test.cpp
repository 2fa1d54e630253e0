// What a client says and does when the store itself is in trouble: stuck, deleted, closed.
#include "stores/host/ledger.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::eventually;
using mortise::testing::scratch_directory;
using ::testing::HasSubstr;

class host_in_trouble : public ::testing::Test {
protected:
    // A process that stops in the midst of the store's own lock.
    child stopped_inside() const {
        return child{[this] {
            const auto kept = ledger::open({scratch_.path(), true});
            ledger::access in{*kept};
            ::raise(SIGSTOP);
            return 0;
        }};
    }

    scratch_directory scratch_;
    const std::string url_ = "host:" + scratch_.path();
};

// Renewals that get nowhere do not keep the thread that has to say so.
TEST_F(host_in_trouble, a_stuck_store_does_not_delay_the_news_that_a_hold_is_lost) {
    client locks{url_};
    hold leased = locks.acquire("leased", {.lease = 900ms});
    const hold kept = locks.acquire("kept");
    std::atomic<bool> told{false};
    leased.on_lost([&] { told = true; });

    child other = stopped_inside();
    ASSERT_TRUE(other.stopped());
    const auto deadline = leased.valid_until();
    EXPECT_TRUE(eventually([&] { return told.load(); }, 30s));
    const auto late = boot_clock::now() - deadline;
    std::cout << "stuck: told_after_deadline_ms=" << std::chrono::duration<double, std::milli>(late).count() << "\n";
    EXPECT_LT(late, 1500ms);
    EXPECT_FALSE(leased.valid());
    EXPECT_TRUE(kept.valid()) << "without a lease it lasts while its process does";

    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(locks.try_acquire("leased", {.wait = 20s}));
}

TEST_F(host_in_trouble, waiting_goes_on_after_a_stuck_store) {
    client holder{url_};
    client waiter{url_};
    hold mine = holder.acquire("n");
    std::atomic<bool> got{false};
    std::jthread waits{[&] {
        const hold theirs = waiter.acquire("n");
        got = true;
    }};
    std::this_thread::sleep_for(50ms);
    child other = stopped_inside();
    ASSERT_TRUE(other.stopped());
    std::this_thread::sleep_for(200ms);
    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
    mine.release();
    EXPECT_TRUE(eventually([&] { return got.load(); }, 30s));
}

TEST_F(host_in_trouble, deleted_files_are_noticed_and_a_new_client_finds_the_new_ones) {
    client old{url_};
    hold mine = old.acquire("n");
    std::filesystem::remove_all(scratch_.path());

    // It looks once a second.
    std::string said;
    EXPECT_TRUE(eventually(
        [&] {
            const attempt again = old.try_acquire("other");
            if (!again) said = again.refusal().describe();
            return !again && again.reason() == errc::unreachable;
        },
        30s));
    EXPECT_THAT(said, HasSubstr("was deleted or replaced while in use"));
    EXPECT_EQ(mine.release(), release_result::released);

    client fresh{url_};
    EXPECT_TRUE(fresh.try_acquire("n"));
    EXPECT_FALSE(old.try_acquire("n")) << "the old one must not serve beside the new one";
}

}  // namespace
}  // namespace mortise::stores::host
