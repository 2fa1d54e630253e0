// A campaign: processes that lock, and faults, for a while; then a verdict on what they wrote down.
#pragma once

#include "checker/verdict/judgement.hpp"

#include <mortise/spi/fixture.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace mortise::checker {

struct campaign_plan {
    std::string url{};                // of a store of the user's; or
    spi::fixture* servers = nullptr;  // private ones
    std::string clock_shim{};         // a library to preload; empty: clocks are left alone
    std::chrono::milliseconds length{60'000};
    std::size_t processes = 5;
    std::uint64_t seed = 1;
    std::chrono::milliseconds lease{2000};
    std::chrono::milliseconds stay{20};
    std::chrono::milliseconds pause{0};
    std::chrono::milliseconds calm{500};  // between two faults, at most
    std::uint32_t mutexes = 2;
    bool shared = true;
    bool sealing = true;
    bool checks = true;
    bool excuses = true;              // what a store forgot is no violation; a control does without
    bool only_pauses = false;         // every five seconds one process is stopped past its lease: Jepsen's workload
    bool in_order = false;            // all wait in order of arrival, processes die, and nothing else happens
    bool keeps = false;               // mutexes are kept while they are idle (claim_options::keep)
    std::vector<std::string> only{};  // the faults that there are; empty: all
};

// What was done and how often it bit.
struct trouble_tally {
    std::size_t struck = 0;
    std::size_t bit = 0;
};

enum class outcome { sound, violated, is_void };

struct campaign_result {
    outcome is = outcome::is_void;
    std::vector<std::string> reasons{};  // why it is void, or what went wrong beside the checkers
    std::vector<judgement> judgements{};
    std::vector<std::string> not_judged{};  // what the store does not promise
    std::map<std::string, trouble_tally> troubles{};
    std::vector<std::string> lock_names{};
    std::vector<std::string> trouble_names{};  // by the value of their records, from 1
    history all{};
    std::vector<operation> operations{};
    std::size_t grants = 0;
    std::size_t lost = 0;     // holds that ended below their owner
    std::size_t unknown = 0;  // operations
    std::size_t writes = 0;
    std::size_t lost_updates = 0;
    std::size_t processes = 0;  // started in all
    double cpu_seconds = 0;     // of the workers
    std::string store{};
    std::uint64_t seed = 0;
    std::string how{};  // it was run: when, by which version, with what; one line for the page

    std::size_t bites() const;
};

// A signal asked to end it.
struct interrupted {
    int signal = 0;
};

// `told` is called with a line for people now and then. Throws std::invalid_argument if the plan does not suit the store, interrupted
// once stop_campaign() was called, and std::runtime_error if the store cannot be used to begin with.
campaign_result run_campaign(const campaign_plan& plan, const std::function<void(const std::string&)>& told);
void stop_campaign(int signal) noexcept;  // may be called by a signal handler

}  // namespace mortise::checker
