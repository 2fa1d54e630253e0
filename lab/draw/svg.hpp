// A story as a picture.
#pragma once

#include "lab/performance.hpp"
#include "lab/stage/text.hpp"

#include <string>

namespace lab {

struct story;

// A whole SVG document in light and dark, without scripts and fonts from elsewhere. Holds are bars, overlaps are red.
std::string svg_of(const story& told, const performance& played, language in);

}  // namespace lab
