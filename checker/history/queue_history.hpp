// Were claims served in the order in which they came, as far as anybody outside the store can know that order?
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
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

// By their places among the claims that were given.
struct overtaking {
    std::size_t passed = 0;
    std::size_t by = 0;  // the last to come of those who certainly were later
};

struct queue_verdict {
    std::size_t claims = 0;
    std::size_t contested = 0;           // waited while somebody came who certainly was later
    std::vector<overtaking> inversions;  // granted after somebody who certainly was later
};

inline queue_verdict check_order(const std::vector<queued_claim>& all, in_order which = in_order::all) {
    queue_verdict found;
    found.claims = all.size();
    std::vector<std::int64_t> arrivals;
    for (const queued_claim& one : all) arrivals.push_back(one.asked);
    std::sort(arrivals.begin(), arrivals.end());
    std::vector<std::size_t> as_granted(all.size());
    std::iota(as_granted.begin(), as_granted.end(), std::size_t{0});
    std::sort(as_granted.begin(), as_granted.end(),
              [&](std::size_t a, std::size_t b) { return all[a].counter < all[b].counter; });
    std::map<std::uint32_t, std::size_t> latest;  // by weight: the last to come of those who were served so far
    for (const std::size_t mine : as_granted) {
        const queued_claim& one = all[mine];
        const auto passing = std::ranges::find_if(latest, [&](const auto& served) {
            return all[served.second].asked > one.in_line && (which == in_order::all || one.excludes(served.first));
        });
        if (passing != latest.end()) found.inversions.push_back({mine, passing->second});
        std::size_t& last = latest.try_emplace(one.weight, mine).first->second;
        if (all[last].asked < one.asked) last = mine;
        const auto next = std::upper_bound(arrivals.begin(), arrivals.end(), one.in_line);
        if (next != arrivals.end() && *next < one.granted) ++found.contested;
    }
    return found;
}

}  // namespace mortise::testing
