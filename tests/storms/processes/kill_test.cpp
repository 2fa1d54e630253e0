// Processes that contend for one name of a host store while they are killed, stopped, forked and ended in every other way.
#include "stores/host/ledger.hpp"
#include "storms/processes/arena.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

double ms(steady_clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}

class process_storm : public ::testing::Test {
protected:
    struct worker {
        pid_t pid = 0;
        int lane = 0;
        std::string what;
        int threads = 1;
        bool gone = false;
    };

    void TearDown() override {
        all_.over = 1;
        for (worker& one : workers_)
            if (!one.gone) {
                ::kill(one.pid, SIGKILL);
                ::kill(one.pid, SIGCONT);
                ::waitpid(one.pid, nullptr, 0);
            }
    }

    worker& hire(int lane, const std::string& what, int threads = 1) {
        workers_.push_back({.lane = lane, .what = what, .threads = threads});
        start(workers_.back());
        return workers_.back();
    }

    void start(worker& one) {
        const std::string lane = std::to_string(one.lane);
        const std::string threads = std::to_string(one.threads);
        const char* arguments[] = {MORTISE_LOCK_WORKER, url_.c_str(),    page_.c_str(), lane.c_str(),
                                   one.what.c_str(),    threads.c_str(), nullptr};
        ASSERT_EQ(
            ::posix_spawn(&one.pid, MORTISE_LOCK_WORKER, nullptr, nullptr, const_cast<char**>(arguments), environ), 0);
        one.gone = false;
    }

    // Marked before it is killed, so that its place inside may be taken over and nobody else's.
    void murder(worker& one) {
        all_.lanes[one.lane].doomed = one.pid;
        ::kill(one.pid, SIGKILL);
        ::waitpid(one.pid, nullptr, 0);
        one.gone = true;
    }

    bool everybody_moves(const char* when) {
        std::vector<std::uint64_t> before;
        for (const worker& one : workers_) before.push_back(all_.lanes[one.lane].entries);
        for (std::size_t i = 0; i < workers_.size(); ++i)
            if (!eventually([&] { return all_.lanes[workers_[i].lane].entries > before[i]; }, 30s)) {
                ADD_FAILURE() << "stuck " << when << ": pid " << workers_[i].pid << " on lane " << workers_[i].lane;
                return false;
            }
        return true;
    }

    // Ends all workers in good order and looks at what is left in the directory.
    void expect_clean_end() {
        all_.over = 1;
        for (worker& one : workers_) {
            int status = 0;
            if (one.gone) continue;
            one.gone = eventually([&] { return ::waitpid(one.pid, &status, WNOHANG) == one.pid; }, 60s);
            EXPECT_TRUE(one.gone) << "pid " << one.pid << " does not end";
            EXPECT_EQ(status, 0);
        }
        EXPECT_EQ(all_.overlaps, 0u);
        EXPECT_EQ(all_.disorders, 0u);
        EXPECT_EQ(all_.unnamed, 0u) << all_.last_error;
        {
            client last{url_};  // sweeps when it comes
            const attempt got = last.try_acquire("storm", {.wait = 20s});
            EXPECT_TRUE(got) << got.refusal().describe();
        }
        const auto kept = stores::host::ledger::open({directory_, true});
        EXPECT_EQ(kept->blocks_in_use(), 0u);
        EXPECT_EQ(stores::host::ledger::access{*kept}.problem(), "");
        for (const auto& file : std::filesystem::directory_iterator(directory_))
            EXPECT_FALSE(file.path().filename().string().starts_with("bell-")) << "litter: " << file.path().filename();
    }

    scratch_directory scratch_;
    std::string directory_ = scratch_ / "store";
    std::string url_ = "host:" + directory_;
    std::string page_ = scratch_ / "arena";
    arena& all_ = arena::at(page_);
    std::vector<worker> workers_;
    std::minstd_rand dice_{20240229};
};

TEST_F(process_storm, kill) {
    constexpr int crowd = 8;
    workers_.reserve(crowd);
    for (int lane = 0; lane < crowd; ++lane) hire(lane, "loop");
    ASSERT_TRUE(everybody_moves("before the storm"));

    all_.linger = 100'000;  // so that many die inside
    const std::uint64_t kills = scale(2000);
    std::vector<double> waits;
    std::uint64_t stuck = 0;
    const auto begun = steady_clock::now();
    for (std::uint64_t n = 0; n < kills && stuck == 0; ++n) {
        std::this_thread::sleep_for(std::chrono::microseconds{dice_() % 4000});
        worker* victim = &workers_[dice_() % crowd];
        if (n % 2 == 0)  // whoever is inside right now, if anybody is
            for (int spin = 0; spin < 100'000; ++spin)
                if (const auto lane = static_cast<int>(all_.inside >> 32); lane != 0) {
                    victim = &workers_[static_cast<std::size_t>(lane - 1)];
                    break;
                }
        const auto killed_at = steady_clock::now();
        const std::uint64_t code = arena::code(victim->lane, victim->pid);
        murder(*victim);
        if (all_.inside == code || all_.taken_from == code) {  // it died inside
            if (eventually([&] { return all_.taken_from == code; }, 30s)) {
                waits.push_back(ms(steady_clock::duration{all_.taken_at - killed_at.time_since_epoch().count()}));
            } else {
                ++stuck;
            }
        }
        start(*victim);
    }
    const double seconds = ms(steady_clock::now() - begun) / 1000;
    EXPECT_EQ(stuck, 0u);
    EXPECT_TRUE(everybody_moves("after the storm"));
    std::sort(waits.begin(), waits.end());
    std::cout << "kill: processes=" << crowd << " kills=" << kills << " inside=" << waits.size()
              << " entries=" << all_.entries << " overlaps=" << all_.overlaps << " token_disorders=" << all_.disorders
              << " stuck=" << stuck << " next_grant_ms_median=" << (waits.empty() ? 0 : waits[waits.size() / 2])
              << " max=" << (waits.empty() ? 0 : waits.back()) << " seconds=" << seconds << "\n";
    EXPECT_GT(waits.size(), 0u);
    expect_clean_end();
}

// The page does see an overlap: these processes share a name, but no store.
TEST_F(process_storm, the_same_check_convicts_a_store_of_one_process) {
    url_ = "memory:";
    all_.linger = 100'000;
    workers_.reserve(2);
    for (int lane = 0; lane < 2; ++lane) hire(lane, "loop");
    EXPECT_TRUE(eventually([&] { return all_.overlaps > 0; }));
}

TEST_F(process_storm, stop) {
    constexpr int crowd = 8;
    workers_.reserve(crowd);
    for (int lane = 0; lane < crowd; ++lane) hire(lane, "loop");
    ASSERT_TRUE(everybody_moves("before the storm"));

    const std::uint64_t stops = scale(500);
    const std::uint64_t every = std::max<std::uint64_t>(1, stops / 5);  // these last longer than anybody's patience
    const auto begun = steady_clock::now();
    double longest = 0;
    for (std::uint64_t n = 0; n < stops; ++n) {
        std::this_thread::sleep_for(std::chrono::microseconds{dice_() % 3000});
        const worker& victim = workers_[dice_() % crowd];
        all_.last_stopped = victim.pid;
        ::kill(victim.pid, SIGSTOP);
        if (n % every == every - 1) {
            // Whatever it holds, nobody hangs: every other one is served, or told that it was not, again and again.
            const auto stopped_at = steady_clock::now();
            std::uint64_t before[crowd];
            for (int lane = 0; lane < crowd; ++lane) before[lane] = all_.lanes[lane].attempts;
            for (const worker& other : workers_) {
                if (&other == &victim) continue;
                EXPECT_TRUE(eventually([&] { return all_.lanes[other.lane].attempts > before[other.lane] + 1; }, 30s))
                    << "pid " << other.pid << " hangs while pid " << victim.pid << " is stopped";
            }
            longest = std::max(longest, ms(steady_clock::now() - stopped_at));
        } else {
            std::this_thread::sleep_for(std::chrono::microseconds{dice_() % 20'000});
        }
        ::kill(victim.pid, SIGCONT);
        ASSERT_TRUE(n % 50 != 49 || everybody_moves("after CONT"));
    }
    EXPECT_TRUE(everybody_moves("after the storm"));
    std::cout << "stop: processes=" << crowd << " stops=" << stops << " entries=" << all_.entries
              << " overlaps=" << all_.overlaps << " token_disorders=" << all_.disorders << " timeouts=" << all_.timeouts
              << " errors_naming_the_stopped=" << all_.named << " other_errors=" << all_.unnamed
              << " longest_ms_until_all_were_answered=" << longest
              << " seconds=" << ms(steady_clock::now() - begun) / 1000 << "\n";
    expect_clean_end();
}

TEST_F(process_storm, fork) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "another thread may hold the sanitizer's allocator at fork, and the child hangs in it";
#endif
    workers_.reserve(3);
    for (int i = 0; i < 3; ++i) hire(i * 4, "fork", 2);
    const std::uint64_t forks = scale(600);
    const auto born = [&] {
        std::uint64_t sum = 0;
        for (const worker& one : workers_) sum += all_.lanes[one.lane + 2].attempts;
        return sum;
    };
    EXPECT_TRUE(eventually([&] { return born() >= forks; }, 120s)) << "only " << born() << " children came and went";
    EXPECT_TRUE(everybody_moves("after the forks"));
    std::cout << "fork: processes=3 threads=2 forks=" << born() << " entries=" << all_.entries
              << " overlaps=" << all_.overlaps << " token_disorders=" << all_.disorders << " errors=" << all_.unnamed
              << "\n";
    expect_clean_end();
}

TEST_F(process_storm, ends_with_a_hold) {
    const std::uint64_t rounds = scale(40);
    const std::vector<std::string> ways{"exit", "quick_exit", "_exit", "abort", "return", "pause"};
    workers_.reserve(ways.size());
    for (const std::string& way : ways) workers_.push_back({.lane = static_cast<int>(workers_.size()), .what = way});
    for (std::uint64_t n = 0; n < rounds; ++n) {
        for (worker& one : workers_) start(one);
        for (worker& one : workers_) {
            if (one.what == "pause") continue;
            // "pause" keeps the lock for ever, so it is killed when it has got it.
            worker& sleeper = workers_.back();
            EXPECT_TRUE(eventually(
                [&] {
                    if (!sleeper.gone && all_.inside == arena::code(sleeper.lane, sleeper.pid)) murder(sleeper);
                    int status = 0;
                    return ::waitpid(one.pid, &status, WNOHANG) == one.pid;
                },
                60s))
                << one.what;
            one.gone = true;
        }
        if (worker& sleeper = workers_.back(); !sleeper.gone) murder(sleeper);
    }
    std::cout << "ends: ways=" << ways.size() << " rounds=" << rounds << " entries=" << all_.entries
              << " overlaps=" << all_.overlaps << " token_disorders=" << all_.disorders << "\n";
    expect_clean_end();
}

TEST_F(process_storm, four_processes_of_four_threads_share_evenly) {
    constexpr int processes = 4;
    constexpr int threads = 4;
    all_.quota = scale(1'000'000);
    workers_.reserve(processes);
    const auto begun = steady_clock::now();
    for (int i = 0; i < processes; ++i) hire(i * threads, "loop", threads);
    // On a machine that is busy with something else every change of process waits for its turn on a processor, so this may
    // take many times as long as usual. It then ends early and says how far it came.
    static_cast<void>(eventually([&] { return all_.entries >= all_.quota; }, 100s));
    EXPECT_GE(all_.entries, all_.quota / 50);
    const double seconds = ms(steady_clock::now() - begun) / 1000;
    std::uint64_t least = all_.entries;
    std::uint64_t most = 0;
    for (int lane = 0; lane < processes * threads; ++lane) {
        least = std::min<std::uint64_t>(least, all_.lanes[lane].entries);
        most = std::max<std::uint64_t>(most, all_.lanes[lane].entries);
    }
    const double mean = static_cast<double>(all_.entries) / (processes * threads);
    std::cout << "shares: processes=" << processes << " threads=" << threads << " acquisitions=" << all_.entries
              << " overlaps=" << all_.overlaps << " token_disorders=" << all_.disorders
              << " least_share=" << static_cast<double>(least) / mean
              << " most_share=" << static_cast<double>(most) / mean << " seconds=" << seconds << "\n";
    EXPECT_GE(static_cast<double>(least), mean / 2);
    expect_clean_end();
}

}  // namespace
}  // namespace mortise::testing
