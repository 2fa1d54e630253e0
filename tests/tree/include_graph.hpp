// Which files of a folder include each other in a cycle.
#pragma once

#include <string>
#include <vector>

namespace tree {

// One line of one file that includes a header of ours.
struct include_line {
    std::string file;
    int number = 0;
    std::string header;  // its path from the root
};

// The cycles among the files below a folder, as text to read; empty if includes point one way. A header and the .cpp of the
// same name count as one: x.cpp may include what includes x.hpp only if x.hpp could.
std::vector<std::string> cycles(const std::string& folder, const std::vector<include_line>& lines);

}  // namespace tree
