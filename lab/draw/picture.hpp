// The timeline of a story as elements of SVG, which a picture and a page have in common.
#pragma once

#include "lab/draw/layout.hpp"
#include "lab/stage/text.hpp"

#include <string>
#include <string_view>

namespace lab {

struct picture {
    std::string elements{};
    int width = 0;
    int height = 0;
};

struct timeline_picture {
    picture head{};  // the names of the lanes
    picture rows{};  // each row is one <g class="row">, in order
};

timeline_picture picture_of(const layout& drawn, language in);

// What the lines and marks mean, as far as they occur.
picture legend_of(const layout& drawn, language in, int width);

// The looks of all elements, in light and in dark. Without variables: not every viewer knows them.
std::string picture_style();

// Rules of CSS with the names of our colours ($page, $ink, $soft, $rule, $held, $bad, $pale, $late, $good, $on, $head) replaced.
std::string in_colours(std::string_view style, bool dark);

}  // namespace lab
