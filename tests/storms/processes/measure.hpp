// How long a storm is on a store.
#pragma once

#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace mortise::testing {

// Some stores notice the death of a holder at once. On the others its lock stays taken until its lease ends: there the leases of
// a storm are short, few die, and everything that costs a round trip to a server is done less often.
class measure {
public:
    explicit measure(const std::string& url) : leased_(client{url}.promises().default_lease.has_value()) {}

    bool leased() const { return leased_; }

    std::uint64_t operations(std::uint64_t n) const { return scale(leased_ ? std::max<std::uint64_t>(1, n / 50) : n); }
    std::uint64_t deaths(std::uint64_t n, std::uint64_t few) const {
        if (!leased_) return scale(n);
        return in_full() ? 10 * few : few;
    }

    // Of claims that are not about leases. Much longer than a process has to wait for a processor: whoever loses its lock while
    // it is inside is taken for an overlap.
    std::optional<std::chrono::nanoseconds> lease() const {
        if (!leased_) return std::nullopt;
        return std::chrono::seconds{3};
    }

    static bool in_full() { return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr; }

private:
    bool leased_;
};

}  // namespace mortise::testing
