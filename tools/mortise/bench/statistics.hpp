// What several runs, or several threads, amount to. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bench {

struct spread {
    double median = 0;
    double least = 0;
    double most = 0;
};

// Values that are not a number (what could not be measured) are left out; of none at all, the median is not a number.
spread spread_of(std::vector<double> values);

// Run by run: each value by the baseline of the same round.
spread ratio_of(std::span<const double> values, std::span<const double> baseline);

// The fewest and the most that one of them got, by the mean.
struct shares {
    double least = 0;
    double most = 0;
};
shares shares_of(std::span<const std::uint64_t> counts);

}  // namespace bench
