// Processes with threads that want one lock all the time: each gets its share, and its turn.
#include "storms/processes/claim_notes.hpp"
#include "storms/processes/storm.hpp"

#include <algorithm>

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
        all_.quota = quota;
        all_.notes = 1;
        const auto begun = steady_clock::now();
        for (int i = 0; i < processes; ++i) hire(i * threads, "loop", threads);
        // On a machine that is busy with something else every change of process waits for its turn on a processor, so
        // this may take many times as long as usual. It then ends early and says how far it came.
        static_cast<void>(eventually([&] { return all_.entries >= all_.quota; }, 100s));
        EXPECT_GE(all_.entries, all_.quota / 50);
        const double seconds = seconds_since(begun);
        std::uint64_t least = all_.entries;
        std::uint64_t most = 0;
        for (int lane = 0; lane < processes * threads; ++lane) {
            least = std::min<std::uint64_t>(least, all_.lanes[lane].entries);
            most = std::max<std::uint64_t>(most, all_.lanes[lane].entries);
        }
        const double mean = static_cast<double>(all_.entries) / (processes * threads);
        expect_all_leave();

        std::vector<queued_claim> claims;
        for (const worker& one : workers_) claim_notes::load(arena::notes_file(page_, one.lane), claims);
        const outcome found{check_order(claims), static_cast<double>(least) / mean};
        std::cout << which << ": processes=" << processes << " threads=" << threads << figures()
                  << " least_share=" << found.least_share << " most_share=" << static_cast<double>(most) / mean
                  << " claims=" << found.order.claims << " contested=" << found.order.contested
                  << " inversions=" << found.order.inversions << " most_turns_on_a_grant=" << all_.most_turns
                  << " timeouts=" << all_.timeouts << " seconds=" << seconds << "\n";
        return found;
    }
};
EVERY_STORE_OF_PROCESSES(shares_storm);

// First come, first served between processes, but for the turns that one may take on its grant.
TEST_P(shares_storm, four_processes_of_four_threads_share_evenly) {
    const outcome found = contend("shares", 4, 4, scale(1'000'000));
    EXPECT_EQ(found.order.inversions, 0u);
    EXPECT_GT(found.order.contested, 0u);
    EXPECT_LE(all_.most_turns, client_options{}.hand_over_turns);
    EXPECT_GE(found.least_share, 0.5);
    expect_clean_end();
}

// First come, first served between all threads of all processes.
TEST_P(shares_storm, a_demand_for_fifo_is_met_across_processes) {
    all_.fifo = 1;
    const outcome found = contend("fifo", 4, 4, scale(100'000));
    EXPECT_EQ(found.order.inversions, 0u);
    EXPECT_GT(found.order.contested, 0u);
    EXPECT_EQ(all_.most_turns, 1u);
    EXPECT_GE(found.least_share, 0.5);
    expect_clean_end();
}

TEST_P(shares_storm, a_store_that_mixes_up_its_line_is_convicted) {
    all_.fifo = 1;
    all_.specimen = 1;
    EXPECT_GT(contend("specimen", 2, 4, 500).order.inversions, 0u);
}

}  // namespace
}  // namespace mortise::testing
