// From what was written down to the verdict. Pure.
#pragma once

#include "checker/campaign/campaign.hpp"

namespace mortise::checker {

struct evidence {
    history all{};                        // of the workers and of the campaign
    std::vector<record> applied{};        // by the resource
    std::vector<std::string> troubles{};  // by the value of their records, from 1
    std::vector<bool> forgetting{};       // which of them make the store forget
    std::vector<bool> forgetting_releases{};
    std::int64_t bound = 0;        // of liveness, in nanoseconds
    std::int64_t answered_in = 0;  // so long a store waits for an answer to a grant
    std::uint32_t mutexes = 0;
    bool sealing = true;
    bool lists = true;      // whether the store can be asked who holds what
    bool tokens = true;     // whether it gives any
    bool reached = true;    // the store, at the end
    bool in_order = false;  // whether all waited in order of arrival
    bool keeps = false;     // whether idle locks were kept
};

// Judges, counts, and says whether the run counts at all: a fault that was planned and never bit, a log that was full, a checker that
// saw nothing make it void.
void judge(evidence seen, campaign_result& result);

// What a worker writes down when it sees the wall clock jump, and when it has forked: of faults that only their victims see.
inline constexpr std::uint64_t clock_was_seen_to_jump = 1000;
inline constexpr std::uint64_t children_were_made = 1001;
inline constexpr std::string_view clock_trouble = "wall clock jumps";
inline constexpr std::string_view fork_trouble = "process forks";

}  // namespace mortise::checker
