// Were claims served in the order in which they came, as far as anybody outside the store can know that order?
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mortise::testing {

// A claim joined the store's line at some instant between `asked` and `in_line`. So the order of two claims is known if one
// was asked for after the other was in line, and only then. Instants are nanoseconds of one clock for all of them.
struct queued_claim {
    std::int64_t asked = 0;     // just before the store was asked for the first time
    std::int64_t in_line = 0;   // just after the store said that it waits, or holds
    std::int64_t granted = 0;   // when its owner heard of the grant
    std::uint64_t counter = 0;  // of the grant: the order in which the store made them
};

struct queue_verdict {
    std::size_t claims = 0;
    std::size_t contested = 0;   // waited while somebody came who certainly was later
    std::size_t inversions = 0;  // were granted after somebody who certainly was later
};

inline queue_verdict check_order(std::vector<queued_claim> all) {
    queue_verdict found{.claims = all.size()};
    std::vector<std::int64_t> arrivals;
    for (const queued_claim& one : all) arrivals.push_back(one.asked);
    std::sort(arrivals.begin(), arrivals.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.counter < b.counter; });
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();  // arrival of those who were served so far
    for (const queued_claim& one : all) {
        if (latest > one.in_line) ++found.inversions;
        latest = std::max(latest, one.asked);
        const auto next = std::upper_bound(arrivals.begin(), arrivals.end(), one.in_line);
        if (next != arrivals.end() && *next < one.granted) ++found.contested;
    }
    return found;
}

}  // namespace mortise::testing
