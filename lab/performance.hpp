// A story, as it was seen.
#pragma once

#include "lab/stage/judge.hpp"
#include "lab/stage/trace.hpp"

#include <set>

namespace lab {

// The lock as the document writes it, and as it should be.
enum class form { naive, mended };

struct performance {
    form played = form::naive;
    lab::trace trace{};
    std::set<mishap> seen{};
};

}  // namespace lab
