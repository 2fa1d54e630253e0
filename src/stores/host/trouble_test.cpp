// What a client says and does when the store itself is in trouble: stuck, deleted, closed.
#include "stores/host/ledger_access.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::eventually;
using mortise::testing::milestone;
using mortise::testing::scratch_directory;
using ::testing::HasSubstr;

class host_in_trouble : public ::testing::Test {
protected:
    // A process that stops in the midst of the store's own lock.
    child stopped_inside() const {
        return child{[this] {
            const auto kept = open_ledger({scratch_.path(), true});
            ledger_access in{*kept};
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

// No lease would ever free it: the release is made up for, by the client or by whoever meets what it left.
TEST_F(host_in_trouble, a_release_that_does_not_get_through_is_made_up_for) {
    client others{url_};
    client stays{url_};
    auto goes = std::make_unique<client>(url_);
    hold one = stays.acquire("one");
    hold two = goes->acquire("two");
    child other = stopped_inside();
    ASSERT_TRUE(other.stopped());
    EXPECT_EQ(one.release(), release_result::unknown);
    goes.reset();

    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(others.try_acquire("one", {.wait = 20s}));
    EXPECT_TRUE(others.try_acquire("two", {.wait = 20s}));
}

// Asking again is the io thread's business, which is not patient; the wait goes on all the same.
TEST_F(host_in_trouble, a_wait_survives_a_store_that_is_stuck_for_a_moment) {
    client holder{url_};
    client waiter{url_};
    hold mine = holder.acquire("n");
    std::atomic<int> got{0};
    std::jthread waits{[&] {
        const attempt theirs = waiter.try_acquire("n", {.wait = 30s, .lease = 300ms});  // asked again every 100 ms
        got = theirs ? 1 : 2;
    }};
    std::this_thread::sleep_for(50ms);
    child other = stopped_inside();
    ASSERT_TRUE(other.stopped());
    std::this_thread::sleep_for(400ms);
    other.tell(SIGCONT);
    EXPECT_EQ(other.wait(), 0);
    mine.release();
    EXPECT_TRUE(eventually([&] { return got.load() != 0; }, 30s));
    EXPECT_EQ(got, 1);
}

TEST_F(host_in_trouble, a_client_that_leaves_in_the_midst_of_a_claim_leaves_nothing_behind) {
    const auto kept = open_ledger({scratch_.path(), true});
    for (int n = 0; n < 300; ++n) {
        auto goes = std::make_unique<client>(url_, client_options{.close_wait = 0ms});
        std::atomic<bool> begun{false};
        std::thread asks{[&locks = *goes, &begun] {
            begun = true;
            std::error_code ec;
            for (int i = 0; i < 5 && !ec; ++i) locks.acquire("n", {}, ec).release();
        }};
        while (!begun) std::this_thread::yield();
        goes->start({.name = "m"}, [](attempt) {});
        asks.join();
        goes.reset();
    }
    EXPECT_TRUE(eventually([&] { return kept->blocks_in_use() == 0; }, 20s));
}

// Terms persist, and a word of the lock has room for a part of them only.
TEST_F(host_in_trouble, a_process_slot_taken_a_million_times_still_keeps_others_out) {
    child first{[&] {
        open_ledger({scratch_.path(), true})->slots().set_term_for_test(0xfffff);
        return 0;
    }};
    ASSERT_EQ(first.wait(), 0);
    child heir{[&] {
        const auto own = open_ledger({scratch_.path(), true});
        if (own->slots().mine() != process_slot{0, 0x100000}) return 1;
        ledger_access in{*own};
        ::raise(SIGSTOP);
        return 0;
    }};
    ASSERT_TRUE(heir.stopped());
    const auto kept = open_ledger({scratch_.path(), true});
    EXPECT_THROW(ledger_access(*kept, 50ms), error) << "it is inside";
    heir.tell(SIGCONT);
    EXPECT_EQ(heir.wait(), 0);
}

TEST_F(host_in_trouble, descriptors_that_became_somebody_elses_are_noticed) {
    child other{[&] {
        client locks{url_};
        hold mine = locks.acquire("n");
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            if (std::filesystem::read_symlink(entry.path(), gone) == std::filesystem::path{scratch_ / "locks"})
                ::close(std::stoi(entry.path().filename()));
        }
        for (int n = 0; n < 20; ++n)
            if (::open("/dev/null", O_RDWR) < 0) return 1;
        std::string said;
        const bool noticed = eventually(
            [&] {
                const attempt again = locks.try_acquire("other");
                if (!again) said = again.refusal().describe();
                return !again;
            },
            30s);
        ::_exit(noticed && said.find("closed a descriptor") != said.npos ? 0 : 2);
    }};
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(host_in_trouble, a_wake_pipe_that_leads_elsewhere_is_not_written_to) {
    client holder{url_};
    hold mine = holder.acquire("n");
    milestone waiting;
    child waiter{[&] {
        client locks{url_};
        locks.start({.name = "n"}, [](attempt) {});
        std::this_thread::sleep_for(100ms);
        waiting.reach();
        ::pause();
        return 0;
    }};
    waiting.await();
    const std::string victim = scratch_ / "victim";
    std::ofstream{victim} << "untouched";
    for (const auto& file : std::filesystem::directory_iterator(scratch_.path())) {
        if (file.path().filename().string().find("bell-1-") != 0) continue;
        std::filesystem::remove(file.path());
        std::filesystem::create_symlink(victim, file.path());
    }
    mine.release();
    std::string text;
    std::ifstream{victim} >> text;
    EXPECT_EQ(text, "untouched");
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
    EXPECT_TRUE(eventually([&] { return !mine.valid(); }, 30s)) << "the holder is told as well";
    EXPECT_EQ(mine.release(), release_result::expired);

    client fresh{url_};
    EXPECT_TRUE(fresh.try_acquire("n"));
    EXPECT_FALSE(old.try_acquire("n")) << "the old one must not serve beside the new one";
}

}  // namespace
}  // namespace mortise::stores::host
