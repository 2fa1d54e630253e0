// Crowds of `run`. `make storms` has them in full length.
#include "program.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

namespace command {
namespace {

using mortise::testing::scale;

class command_storm : public command_suite {
protected:
    std::vector<mortise::held_lock> held() const {
        mortise::client locks{"host:" + store_};
        return locks.list();
    }
};

TEST_F(command_storm, no_update_is_lost) {
    constexpr int crowd = 64;
    const auto rounds = scale(50);
    std::ofstream{scratch_ / "n"} << "0\n";
    const std::string add_one = "read n < $S/n; echo $((n+1)) > $S/n";
    std::vector<child> all;
    for (int i = 0; i < crowd; ++i) {
        all.emplace_back([&] {
            ::setenv("S", scratch_.path().c_str(), 1);
            ::setenv("PROGRAM", MORTISE_PROGRAM, 1);
            ::alarm(280);
            const std::string loop = "i=0; while [ $i -lt " + std::to_string(rounds) +
                                     " ]; do \"$PROGRAM\" run counter -- sh -c '" + add_one +
                                     "' || exit 1; i=$((i+1)); done";
            ::execlp("sh", "sh", "-c", loop.c_str(), nullptr);
            return 98;
        });
    }
    for (child& each : all) EXPECT_EQ(each.wait(280s), 0);
    EXPECT_EQ(content(scratch_ / "n"), std::to_string(crowd * rounds) + "\n");
    EXPECT_TRUE(held().empty());
}

TEST_F(command_storm, interrupted_waits_leave_an_empty_queue) {
    mortise::client locks{"host:" + store_};
    const mortise::hold mine = locks.acquire("x");
    const auto total = scale(1000);
    std::uint64_t interrupted = 0;
    for (std::uint64_t done = 0; done < total;) {
        const auto crowd = std::min<std::uint64_t>(25, total - done);
        std::vector<child> all;
        for (std::uint64_t i = 0; i < crowd; ++i) all.push_back(start({"run", "x", "--", "true"}));
        // Half of them in the queue for sure, the others wherever they are.
        if (done % 50 == 0) {
            EXPECT_TRUE(eventually([&] { return locks.list().front().waiting == crowd; }, 60s));
        }
        for (std::size_t i = 0; i < all.size(); ++i) all[i].tell(i % 5 == 4 ? SIGKILL : i % 2 == 0 ? SIGINT : SIGTERM);
        for (child& each : all) {
            const int code = each.wait();
            EXPECT_TRUE(code == 130 || code == 143 || code < 0) << code;  // < 0: before it heeded signals, or KILL
            EXPECT_NE(code, -1000);
            interrupted += code == 130 || code == 143 ? 1 : 0;
        }
        done += crowd;
    }
    std::cout << "interrupted_while_waiting=" << interrupted << "/" << total << "\n";
    EXPECT_TRUE(eventually([&] { return locks.list().front().waiting == 0; }));
    EXPECT_EQ(content(scratch_ / "err"), "");
}

// More processes than host: has slots for, all at once. For every day most slots are taken by somebody else; in full
// length each of 1,100 wants its own.
TEST_F(command_storm, a_crowd_beyond_the_limit_of_processes_is_served) {
    const bool in_full = std::getenv("MORTISE_STORMS_IN_FULL") != nullptr;
    const int crowd = in_full ? 1100 : 40;
    const std::size_t slots_left = in_full ? 1024 : 16;
    ASSERT_EQ(mortise({"run", "x", "--", "true"}).code, 0);
    child others{[&] {
        struct flock slots {};
        slots.l_type = F_WRLCK;
        slots.l_start = off_t{1} << 40;
        slots.l_len = static_cast<off_t>(1024 - slots_left);
        const int file = ::open((store_ + "/locks").c_str(), O_RDWR | O_CLOEXEC);
        if (!in_full && ::fcntl(file, F_SETLK, &slots) != 0) return 1;
        std::ofstream{scratch_ / "slots-taken"} << "y";
        ::alarm(280);
        ::pause();
        return 0;
    }};
    ASSERT_TRUE(appears("slots-taken"));
    const std::string go = scratch_ / "go";
    const auto begun = std::chrono::steady_clock::now();
    std::vector<child> all;
    all.push_back(start({"run", "x", "--", "sh", "-c", "until test -e " + go + "; do sleep 0.1; done"}));
    ASSERT_TRUE(eventually([&] { return held().size() == 1; }, 60s));
    for (int i = 1; i < crowd; ++i) all.push_back(start({"run", "-w", "200s", "x", "--", "true"}));
    EXPECT_TRUE(eventually([&] { return held().front().waiting == slots_left - 1; }, 120s))
        << "every process slot is taken";
    EXPECT_EQ(mortise({"list"}).code, 0);
    EXPECT_EQ(mortise({"doctor"}).code, 0);
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 69);
    std::ofstream{go} << "y";
    int failed = 0;
    for (child& each : all) failed += each.wait(280s) != 0 ? 1 : 0;
    const auto took = std::chrono::steady_clock::now() - begun;
    std::cout << "crowd=" << crowd << " failed=" << failed << " seconds=" << std::chrono::duration<double>(took).count()
              << "\n";
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(content(scratch_ / "err"), "");
    EXPECT_TRUE(held().empty());
}

}  // namespace
}  // namespace command
