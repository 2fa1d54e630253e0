// Processes with threads that want one lock all the time: each gets its share, and its turn.
#include "storms/processes/claim_notes.hpp"
#include "storms/processes/storm.hpp"

#include <algorithm>
#include <numeric>

namespace mortise::testing {
namespace {

class shares_storm : public process_storm {
protected:
    struct outcome {
        queue_verdict order;
        double least_share;  // 1 is the mean
    };

    // Order is judged by what the store was asked for: a claim of its own for every call with order::fifo, else one for
    // all threads of a process, which use its grant in turns.
    outcome contend(const char* which, int processes, int threads, std::uint64_t quota) {
        const int lanes = processes * threads;
        all_.notes = 1;
        for (int i = 0; i < processes; ++i) hire(i * threads, "loop", threads);
        // Counted from when all are there: whoever came first was alone for a while.
        std::vector<std::uint64_t> before(static_cast<std::size_t>(lanes));
        EXPECT_TRUE(eventually([&] {
            for (int lane = 0; lane < lanes; ++lane)
                if ((before[static_cast<std::size_t>(lane)] = all_.lanes[lane].entries) == 0) return false;
            return true;
        }));
        const auto begun = steady_clock::now();
        const std::uint64_t enough = all_.entries + quota;
        // Long enough for shares to mean something. On a machine that is busy with something else every change of process
        // waits for its turn on a processor, so this may take many times as long as usual; it then ends early and says
        // how far it came.
        static_cast<void>(eventually(
            [&] { return all_.entries >= enough && steady_clock::now() - begun > std::chrono::seconds{1}; }, 100s));
        const double seconds = seconds_since(begun);
        std::vector<std::uint64_t> shares;
        for (int lane = 0; lane < lanes; ++lane)
            shares.push_back(all_.lanes[lane].entries - before[static_cast<std::size_t>(lane)]);
        const std::uint64_t sum = std::accumulate(shares.begin(), shares.end(), std::uint64_t{0});
        EXPECT_GE(sum, quota / 50);
        const double mean = static_cast<double>(sum) / lanes;
        const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
        expect_no_orphans("after the storm");
        expect_all_leave();

        std::vector<queued_claim> claims;
        for (const worker& one : workers_) claim_notes::load(arena::notes_file(page_, one.lane), claims);
        const outcome found{check_order(claims), static_cast<double>(*least) / mean};
        std::cout << which << ": processes=" << processes << " threads=" << threads << figures()
                  << " least_share=" << found.least_share << " most_share=" << static_cast<double>(*most) / mean
                  << " claims=" << found.order.claims << " contested=" << found.order.contested
                  << " inversions=" << found.order.inversions.size() << " most_turns_on_a_grant=" << all_.most_turns
                  << " timeouts=" << all_.timeouts << " seconds=" << seconds << "\n";
        return found;
    }
};
EVERY_STORE_OF_PROCESSES(shares_storm);

// First come, first served between processes, but for the turns that one may take on its grant.
TEST_P(shares_storm, four_processes_of_four_threads_share_evenly) {
    const outcome found = contend("shares", 4, 4, where_.entries(1'000'000));
    EXPECT_EQ(found.order.inversions.size(), 0u);
    EXPECT_GT(found.order.contested, 0u);
    EXPECT_LE(all_.most_turns, client_options{}.hand_over_turns);
    EXPECT_GE(found.least_share, 0.5);
    expect_clean_end();
}

// First come, first served between all threads of all processes.
TEST_P(shares_storm, a_demand_for_fifo_is_met_across_processes) {
    all_.fifo = 1;
    const outcome found = contend("fifo", 4, 4, where_.entries(100'000));
    EXPECT_EQ(found.order.inversions.size(), 0u);
    EXPECT_GT(found.order.contested, 0u);
    EXPECT_EQ(all_.most_turns, 1u);
    EXPECT_GE(found.least_share, 0.5);
    expect_clean_end();
}

class shares_specimen : public shares_storm {};
SPECIMENS_OF_PROCESSES(shares_specimen);

TEST_P(shares_specimen, a_store_that_mixes_up_its_line_is_convicted) {
    all_.fifo = 1;
    all_.specimen = 1;
    EXPECT_GT(contend("specimen", 2, 4, 500).order.inversions.size(), 0u);
}

}  // namespace
}  // namespace mortise::testing
