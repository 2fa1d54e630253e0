// Distributions of waits as a picture.
#pragma once

#include "figures.hpp"

#include <string>
#include <vector>

namespace bench {

// A panel for each workload, a line for each contender: how long the fastest so many percent waited at most. The axis of time
// is logarithmic, that of percentiles counts nines. Colours that the colour-blind can tell apart, and dashes besides.
std::string svg_of(const std::vector<distribution>& all);

}  // namespace bench
