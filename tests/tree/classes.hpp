// The classes of a tree of sources: how many member functions each declares, and which files define them. Reads C++ as far as
// ours needs it, without a compiler: no macros that make classes, no classes inside functions.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace tree {

struct source {
    std::string path;
    std::string text;
};

struct class_found {
    std::string name;  // after those it is nested in: "engine::shard"
    std::string file;
    int line = 0;
    int functions = 0;                   // without those that are defaulted or deleted
    std::set<std::string> defined_in{};  // the .cpp files that define some of them
    std::string excuse{};                // of the comment before it: what follows "One class because"
};

std::vector<class_found> classes_of(const std::vector<source>& sources);

}  // namespace tree
