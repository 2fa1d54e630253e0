// A story in a terminal.
#pragma once

#include "lab/performance.hpp"
#include "lab/stage/text.hpp"

#include <cstddef>
#include <iosfwd>

namespace lab {

struct story;

struct terminal_options {
    std::size_t width = 80;
    bool colour = false;
    bool unicode = true;  // false: lanes and marks in ASCII
};

// Lanes at the left, one column for each actor, time downward; at the right what happens and the server's state.
void print_timeline(std::ostream& out, const story& told, const performance& played, language in,
                    const terminal_options& options);

}  // namespace lab
