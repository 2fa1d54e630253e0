// A story as a page to step through.
#pragma once

#include "lab/performance.hpp"

#include <string>

namespace lab {

struct story;

// One file that needs nothing else, not even a network: both forms, both languages, every step. "#zh" at the end of its address opens
// it in Chinese.
std::string page_of(const story& told, const performance& naive, const performance& mended);

}  // namespace lab
