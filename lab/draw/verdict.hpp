// How a story ended.
#pragma once

#include "lab/performance.hpp"
#include "lab/stage/text.hpp"

namespace lab {

struct story;

struct verdict {
    text sentence{};
    bool good = false;     // as told, and nothing went wrong or only what the mended form cannot prevent
    bool as_told = false;  // what was seen is what the story tells
};

verdict verdict_of(const story& told, const performance& played);

}  // namespace lab
