// Were claims served in the order in which they came, as far as anybody outside the store can know that order?
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace mortise::testing {

// A claim joined the store's line at some instant between `asked` and `in_line`. So the order of two claims is known if one
// was asked for after the other was in line, and only then. Instants are nanoseconds of one clock for all of them.
struct queued_claim {
    std::int64_t asked = 0;     // just before the store was asked for the first time
    std::int64_t in_line = 0;   // just after the store said that it waits, or holds
    std::int64_t granted = 0;   // when its owner heard of the grant
    std::uint64_t counter = 0;  // of the grant: the order in which the store made them
    std::uint32_t weight = 1;
    std::uint32_t capacity = 1;

    bool excludes(std::uint32_t other) const { return std::uint64_t{weight} + other > capacity; }
};

// Which of them have an order. Readers that are let in at once have none; of permits even small requests must not pass big
// ones that they could be beside.
enum class in_order { all, those_that_exclude_each_other };

struct queue_verdict {
    std::size_t claims = 0;
    std::size_t contested = 0;   // waited while somebody came who certainly was later
    std::size_t inversions = 0;  // were granted after somebody who certainly was later
};

inline queue_verdict check_order(std::vector<queued_claim> all, in_order which = in_order::all) {
    queue_verdict found{.claims = all.size()};
    std::vector<std::int64_t> arrivals;
    for (const queued_claim& one : all) arrivals.push_back(one.asked);
    std::sort(arrivals.begin(), arrivals.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.counter < b.counter; });
    std::map<std::uint32_t, std::int64_t> latest;  // by weight: arrival of those who were served so far
    for (const queued_claim& one : all) {
        found.inversions += std::ranges::any_of(latest, [&](const auto& served) {
            return served.second > one.in_line && (which == in_order::all || one.excludes(served.first));
        });
        std::int64_t& last = latest.try_emplace(one.weight, one.asked).first->second;
        last = std::max(last, one.asked);
        const auto next = std::upper_bound(arrivals.begin(), arrivals.end(), one.in_line);
        if (next != arrivals.end() && *next < one.granted) ++found.contested;
    }
    return found;
}

}  // namespace mortise::testing
