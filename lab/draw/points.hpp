// The names of the points at which actors stand.
#pragma once

#include "lab/stage/text.hpp"

#include <string>

namespace lab {

// In both languages, by the name that the story gives it. An unknown one is the same in both.
text point_named(const std::string& name);

}  // namespace lab
