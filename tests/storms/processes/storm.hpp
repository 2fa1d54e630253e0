// Storms of processes: several of lock_worker contend for one name of a store while something happens to them.
//
//     class X : public process_storm {};
//     EVERY_STORE_OF_PROCESSES(X);
//     TEST_P(X, ...) { hire(0, "loop"); ... expect_clean_end(); }
//
// In full length (MORTISE_STORMS_IN_FULL) each test runs on every store that processes can meet on. For every day those are enough
// that notice a death at once; EVERY_QUICK_STORE_OF_PROCESSES adds those with short leases.
//
// MORTISE_STORM_STORE=<address> takes that store instead, for one that runs elsewhere.
#pragma once

#include "checker/history/audit.hpp"
#include "storms/processes/arena.hpp"
#include "support/census.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/spi/fixture.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace mortise::testing {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

inline double ms(steady_clock::duration d) {
    return std::chrono::duration<double, std::milli>(d).count();
}
inline double seconds_since(steady_clock::time_point begun) {
    return ms(steady_clock::now() - begun) / 1000;
}

inline bool in_full() {
    return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr;
}

// Where a storm takes place.
struct ground {
    std::string name;
    spi::fixture* fixture = nullptr;
    std::chrono::milliseconds frees_the_dead_after{};
    std::string address{};  // where there is no fixture

    std::string fresh_url() const { return fixture != nullptr ? fixture->fresh_url() : address; }

    // Holds end by time, and not before that when their holder dies.
    bool by_lease() const { return frees_the_dead_after > 0ms; }
    // Long enough to be renewed on a busy machine; zero where none is needed.
    std::chrono::nanoseconds lease() const {
        return by_lease() ? std::max<std::chrono::nanoseconds>(2s, frees_the_dead_after) : 0s;
    }
    // So many deaths, or fewer where each costs a lease.
    std::uint64_t deaths(std::uint64_t usual) const {
        if (!by_lease()) return scale(usual);
        const auto seconds = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(lease()).count());
        return std::max<std::uint64_t>(2, scale(usual / seconds / (in_full() ? 20 : 100)));
    }
    // So many entries, or fewer where each is a trip to a server.
    std::uint64_t entries(std::uint64_t usual) const { return scale(by_lease() ? usual / 50 : usual); }

    friend void PrintTo(const ground& g, std::ostream* out) { *out << g.name; }
};

// For every day: those that free the locks of the dead within such a time.
inline std::vector<ground> grounds(std::chrono::milliseconds within = 0ms) {
    if (const char* const given = std::getenv("MORTISE_STORM_STORE")) {
        const promises said = client{given}.promises();
        return {{.name = "given",
                 .frees_the_dead_after = said.default_lease || said.longest_lease ? 1s : 0s,
                 .address = given}};
    }
    static const auto fixtures = spi::plain_fixtures();
    std::vector<ground> all;
    for (const auto& one : fixtures)
        if (one->spans_processes() && (in_full() || one->frees_the_dead_after() <= within))
            all.push_back({std::string(one->store()), one.get(), one->frees_the_dead_after()});
    return all;
}

// Where flaws are made on purpose, to be found: it is the judge that is tried there, and not the store.
inline std::vector<ground> grounds_of_specimens() {
    std::vector<ground> all = grounds();
    std::erase_if(all, [](const ground& one) { return one.by_lease(); });
    return all.empty() ? grounds() : all;
}

class storm : public ::testing::Test {
protected:
    struct worker {
        pid_t pid = 0;
        int lane = 0;
        std::string what;
        int threads = 1;
        bool gone = true;
    };

    explicit storm(const ground& where) : where_(where), url_(where.fresh_url()) {
        workers_.reserve(arena::most_lanes);
        all_.lease = where.lease().count();
        all_.served = where.by_lease() ? 1 : 0;
    }

    void TearDown() override {
        all_.over = 1;
        for (worker& one : workers_)
            if (!one.gone) {
                ::kill(one.pid, SIGKILL);
                ::waitpid(one.pid, nullptr, 0);
            }
    }

    worker& hire(int lane, const std::string& what, int threads = 1) {
        workers_.push_back({.lane = lane, .what = what, .threads = threads});
        start(workers_.back());
        return workers_.back();
    }
    void hire_crowd(int count) {
        for (int lane = 0; lane < count; ++lane) hire(lane, "loop");
        ASSERT_TRUE(everybody_moves("before the storm"));
    }

    void start(worker& one, char** environment = environ) {
        const std::string lane = std::to_string(one.lane);
        const std::string threads = std::to_string(one.threads);
        const char* arguments[] = {MORTISE_LOCK_WORKER, url_.c_str(),    page_.c_str(), lane.c_str(),
                                   one.what.c_str(),    threads.c_str(), nullptr};
        ASSERT_EQ(
            ::posix_spawn(&one.pid, MORTISE_LOCK_WORKER, nullptr, nullptr, const_cast<char**>(arguments), environment),
            0);
        one.gone = false;
    }

    // Marked before it is killed, so that its place inside may be taken over and nobody else's.
    void murder(worker& one) {
        all_.lanes[one.lane].doomed = one.pid;
        ::kill(one.pid, SIGKILL);
        ::waitpid(one.pid, nullptr, 0);
        one.gone = true;
    }

    // Whoever is inside, if anybody is for long enough to be seen.
    worker* somebody_inside() {
        for (int spin = 0; spin < 100'000; ++spin)
            if (const auto lane = static_cast<int>(all_.inside >> 32); lane != 0)
                for (worker& one : workers_)
                    if (one.lane == lane - 1) return &one;
        return nullptr;
    }
    worker& anybody() { return workers_[dice_() % workers_.size()]; }

    bool everybody_moves(const char* when) {
        std::vector<std::uint64_t> before;
        for (const worker& one : workers_) before.push_back(all_.lanes[one.lane].entries);
        for (std::size_t i = 0; i < workers_.size(); ++i)
            if (!eventually([&] { return all_.lanes[workers_[i].lane].entries > before[i]; }, 60s)) {
                ADD_FAILURE() << "stuck " << when << ": pid " << workers_[i].pid << " on lane " << workers_[i].lane;
                return false;
            }
        return true;
    }

    void expect_all_leave() {
        all_.over = 1;
        for (worker& one : workers_) {
            int status = 0;
            if (one.gone) continue;
            one.gone = eventually([&] { return ::waitpid(one.pid, &status, WNOHANG) == one.pid; }, 60s);
            EXPECT_TRUE(one.gone) << "pid " << one.pid << " does not end";
            EXPECT_EQ(status, 0);
        }
    }

    // Every claim in the store is one that a living worker admits to, or will be gone soon. To be called when nobody is stopped.
    void expect_no_orphans(const char* when) {
        if (where_.fixture == nullptr || all_.specimen != 0) return;
        // Who died in line may be taken to be alive for some seconds.
        const auto bound =
            std::max(where_.lease(), std::chrono::nanoseconds{all_.lease}) + (where_.by_lease() ? 8s : 2s);
        std::vector<pid_t> answering;
        for (const worker& one : workers_)
            if (!one.gone && (one.what == "loop" || one.what == "fork")) answering.push_back(one.pid);
        const audit_verdict found = audit(
            bound, [&] { return where_.fixture->records_at(url_); },
            [&] { return take_census(all_.census, page_, answering); });
        EXPECT_TRUE(found.innocent()) << when << ": " << found.describe();
        ++audits_;
    }

    // Ends all workers in good order and looks at what is left in the store.
    void expect_clean_end() {
        expect_no_orphans("at the end");
        expect_all_leave();
        EXPECT_EQ(all_.overlaps, 0u);
        EXPECT_EQ(all_.disorders, 0u);
        EXPECT_EQ(all_.unnamed, 0u) << all_.last_error;
        EXPECT_LE(all_.unanswered, all_.entries);
        {
            client last{url_};  // sweeps when it comes
            const attempt got = last.try_acquire("storm", {.wait = 20s});
            EXPECT_TRUE(got) << got.refusal().describe();
        }
        if (where_.fixture == nullptr) return;
        const auto left = where_.fixture->remains_at(url_);
        EXPECT_TRUE(left.clean) << left.figures;
        std::cout << "litter: " << (left.clean ? "none " : "SOME ") << left.figures << " audits=" << audits_ << "\n";
    }

    std::string figures() const {
        return " store=" + where_.name + " entries=" + std::to_string(all_.entries) +
               " overlaps=" + std::to_string(all_.overlaps) + " token_disorders=" + std::to_string(all_.disorders) +
               (where_.by_lease() ? " unanswered=" + std::to_string(all_.unanswered) : "");
    }

    const ground where_;
    std::string url_;
    scratch_directory scratch_;
    std::string page_ = scratch_ / "arena";
    arena& all_ = arena::at(page_);
    std::vector<worker> workers_;
    std::minstd_rand dice_{20240229};
    unsigned audits_ = 0;
};

class process_storm : public storm, public ::testing::WithParamInterface<ground> {
protected:
    process_storm() : storm(GetParam()) {}
};

}  // namespace mortise::testing

// NOLINTBEGIN(cppcoreguidelines-macro-usage): gtest takes the suite's name as a token
#define STORES_OF_PROCESSES(suite, grounds)                                    \
    INSTANTIATE_TEST_SUITE_P(every_store, suite, ::testing::ValuesIn(grounds), \
                             [](const auto& one) { return one.param.name; })
#define EVERY_STORE_OF_PROCESSES(suite) STORES_OF_PROCESSES(suite, mortise::testing::grounds())
#define SPECIMENS_OF_PROCESSES(suite) STORES_OF_PROCESSES(suite, mortise::testing::grounds_of_specimens())
#define EVERY_QUICK_STORE_OF_PROCESSES(suite) \
    STORES_OF_PROCESSES(suite, mortise::testing::grounds(std::chrono::milliseconds{500}))
// NOLINTEND(cppcoreguidelines-macro-usage)
