// The files of src/core are ranked, and includes point down only: whoever reads a file need not know what is above it.
#include "tree/layers.hpp"
#include "tree/repository.hpp"

#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace {

// From the top. A file may include those of the rows below its own.
const std::vector<std::vector<std::string_view>> ranks{
    {"client", "audit"},
    {"engine", "list_poller"},
    {"releaser", "deadlock_detector", "store_queries"},
    {"requester"},
    {"loss_listeners", "release_request"},
    {"claim_table", "store_link"},
    {"request_pace", "look_queue", "contests", "watchdog", "hold"},
    {"cohort", "claim_policy", "notifications"},
    {"lease", "claim_terms", "wait_graph", "hold_keeper", "event_sink", "schedule", "release_log", "pending_reply",
     "blocking_call"},
    {"reentry", "second_looks", "io_clock", "notifier_thread", "registry"},
    {"timers"},
};

std::map<std::string, std::size_t> rank_of_each() {
    std::map<std::string, std::size_t> all;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        for (const std::string_view noun : ranks[rank]) all.emplace(noun, rank);
    return all;
}

// "lease" of "src/core/lease.hpp"; nothing elsewhere.
std::string noun_of(const std::string& file) {
    constexpr std::string_view folder = "src/core/";
    if (!file.starts_with(folder)) return {};
    const auto dot = file.rfind('.');
    const std::string_view ending = std::string_view{file}.substr(dot + 1);
    return ending == "hpp" || ending == "cpp" ? file.substr(folder.size(), dot - folder.size()) : std::string{};
}

TEST(order_of_core, every_file_has_a_rank) {
    const auto ranked = rank_of_each();
    std::map<std::string, bool> seen;
    for (const std::string& file : tree::files()) {
        const std::string noun = noun_of(file);
        if (noun.empty()) continue;
        EXPECT_TRUE(ranked.contains(noun)) << file << " has no rank: add it to the rows of this test";
        seen[noun] = true;
    }
    for (const auto& [noun, rank] : ranked) EXPECT_TRUE(seen[noun]) << noun << " is ranked, but there is no such file";
}

TEST(order_of_core, includes_point_down) {
    const auto ranked = rank_of_each();
    std::size_t read = 0;
    for (const std::string& file : tree::files()) {
        const std::string noun = noun_of(file);
        if (!ranked.contains(noun)) continue;
        std::ifstream in{tree::root() / file};
        std::string line;
        for (int number = 1; std::getline(in, line); ++number) {
            const std::string other = noun_of(tree::included(file, line));
            if (!ranked.contains(other) || other == noun) continue;
            ++read;
            EXPECT_LT(ranked.at(noun), ranked.at(other))
                << file << ":" << number << ": " << noun << " includes " << other << ", which is not below it";
        }
    }
    EXPECT_GT(read, 50U) << "this test read almost nothing";
}

}  // namespace
