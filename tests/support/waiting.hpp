// Patience for tests on real threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

namespace mortise::testing {

// Polls until `holds()` is true; false when it still is not after `timeout`. The timeout only bounds a failing test,
// so it is generous: a passing one does not wait for it.
template <class Predicate>
[[nodiscard]] bool eventually(Predicate holds, std::chrono::steady_clock::duration timeout = std::chrono::seconds{20}) {
    const auto give_up = std::chrono::steady_clock::now() + timeout;
    std::chrono::microseconds nap{100};
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= give_up) return holds();
        std::this_thread::sleep_for(nap);
        nap = std::min(nap * 2, std::chrono::microseconds{5000});
    }
    return true;
}

// The size of a storm on this machine: n times MORTISE_STORM_SCALE (1 when unset or unreadable), at least 1.
inline std::uint64_t scale(std::uint64_t n) {
    const char* given = std::getenv("MORTISE_STORM_SCALE");
    const double factor = given != nullptr ? std::strtod(given, nullptr) : 1.0;
    const double scaled = static_cast<double>(n) * (factor > 0.0 ? factor : 1.0);
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(scaled));
}

}  // namespace mortise::testing
