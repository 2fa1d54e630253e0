#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bench {

spread spread_of(std::vector<double> values) {
    std::erase_if(values, [](double each) { return !std::isfinite(each); });
    if (values.empty()) return {none, none, none};
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
    return {median, values.front(), values.back()};
}

spread ratio_of(std::span<const double> values, std::span<const double> baseline) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < values.size() && i < baseline.size(); ++i)
        ratios.push_back(baseline[i] > 0 ? values[i] / baseline[i] : none);
    return spread_of(std::move(ratios));
}

shares shares_of(std::span<const std::uint64_t> counts) {
    const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (sum == 0) return {none, none};
    const double mean = static_cast<double>(sum) / static_cast<double>(counts.size());
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return {static_cast<double>(*least) / mean, static_cast<double>(*most) / mean};
}

}  // namespace bench
