// Processes that cannot see each other, or may not touch each other's files at will: other pid namespaces, other users.
#include "stores/host/ledger_access.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/host_suite.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;

class host_borders : public host_suite {};

pid_t first_child_of(pid_t parent) {
    const std::string number = std::to_string(parent);
    pid_t found = 0;
    std::ifstream{"/proc/" + number + "/task/" + number + "/children"} >> found;
    return found;
}

TEST_F(host_borders, processes_in_different_pid_namespaces_exclude_each_other) {
    client locks{url_};
    hold mine = locks.acquire("x");
    milestone asked;
    milestone granted;
    // The first process of a new namespace, where it is number 1; its parent only waits for it.
    child other{[&] {
        if (::unshare(CLONE_NEWPID) != 0) {
            asked.reach('s');
            return 0;
        }
        child inner{[&] {
            client own{url_};
            asked.reach(own.try_acquire("x").reason() == errc::busy ? 'y' : 'n');
            const hold its = own.acquire("x", {.wait = 20s});
            granted.reach(its.valid() ? 'y' : 'n');
            ::pause();
            return 0;
        }};
        return inner.wait(60s);
    }};
    const char busy = asked.await();
    if (busy == 's') GTEST_SKIP() << "cannot make a pid namespace";
    EXPECT_EQ(busy, 'y');
    mine.release();
    ASSERT_EQ(granted.await(), 'y');
    EXPECT_EQ(locks.try_acquire("x").reason(), errc::busy);
    ::kill(first_child_of(other.pid()), SIGKILL);
    EXPECT_TRUE(locks.try_acquire("x", {.wait = 20s}));
}

TEST_F(host_borders, a_process_of_another_pid_namespace_that_is_stopped_inside_is_told_of) {
    milestone inside;
    child other{[&] {
        if (::unshare(CLONE_NEWPID) != 0) {
            inside.reach('s');
            return 0;
        }
        child inner{[&] {
            const auto kept = open_ledger({directory_, true});
            ledger_access in{*kept};
            inside.reach('y');
            ::pause();
            return 0;
        }};
        return inner.wait(60s);
    }};
    if (inside.await() == 's') GTEST_SKIP() << "cannot make a pid namespace";
    client locks{url_};
    const attempt got = locks.try_acquire("x", {.wait = 4s});
    ASSERT_FALSE(got);
    EXPECT_THAT(got.refusal().describe(), ::testing::HasSubstr("a process of another pid namespace"));
    ::kill(first_child_of(other.pid()), SIGKILL);
    other.wait();  // until it is gone
    EXPECT_TRUE(locks.try_acquire("x", {.wait = 20s}));
}

TEST_F(host_borders, two_users_meet_in_a_directory_that_both_may_write) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become two users";
    ::chmod(scratch_.path().c_str(), 0755);
    for (const mode_t mode : {0777, 01777}) {
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directory(directory_);
        ::chmod(directory_.c_str(), mode);
        client locks{url_};
        hold mine = locks.acquire("x");
        milestone asked;
        child other{[&] {
            if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) return 1;
            client own{url_};
            if (own.try_acquire("x").reason() != errc::busy) return 2;
            asked.reach();
            const hold its = own.acquire("x", {.wait = 20s});
            ::raise(SIGKILL);
            return 3;
        }};
        asked.await();
        mine.release();
        EXPECT_EQ(other.wait(), -SIGKILL) << std::oct << mode;
        const attempt again = locks.try_acquire("x", {.wait = 20s});
        EXPECT_TRUE(again) << again.refusal().describe();
    }
}

}  // namespace
}  // namespace mortise::stores::host
