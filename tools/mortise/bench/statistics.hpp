// What several runs, or several threads, amount to. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace bench {

// In the place of what could not be measured.
inline constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct spread {
    double median = 0;
    double least = 0;
    double most = 0;
};

// Values that are `none` are left out; where nothing is left, so is the median.
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
