// Random histories, one a seed. A failing one tells its seed; MORTISE_TEST_SEED=<seed> runs that one alone.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace mortise::testing {

// The only seed to be run. What many histories have to come to cannot be expected then.
inline std::optional<std::uint64_t> lone_seed() {
    const char* const given = std::getenv("MORTISE_TEST_SEED");
    if (given == nullptr) return {};
    return std::strtoull(given, nullptr, 10);
}

// Runs the histories of the seeds from 1 on, up to the first with a complaint: `run(seed)` returns it, or nothing.
template <class Run>
std::optional<std::string> first_complaint(std::uint64_t histories, Run run) {
    const auto alone = lone_seed();
    for (std::uint64_t seed = alone.value_or(1); seed <= alone.value_or(histories); ++seed)
        if (const auto found = run(seed)) return "MORTISE_TEST_SEED=" + std::to_string(seed) + ": " + *found;
    return {};
}

}  // namespace mortise::testing
