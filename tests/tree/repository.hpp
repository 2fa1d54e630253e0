// The files of the repository.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tree {

inline const std::filesystem::path& root() {
    static const std::filesystem::path where{MORTISE_SOURCE_DIR};
    return where;
}

// Their paths from the root, sorted. Without build directories and what git and editors keep.
inline std::vector<std::string> files() {
    namespace fs = std::filesystem;
    std::vector<std::string> found;
    for (fs::recursive_directory_iterator at{root()}, end; at != end; ++at) {
        const std::string name = at->path().filename().string();
        if (at->is_directory()) {
            const bool top = at.depth() == 0;
            const bool hidden = name.starts_with('.') && name != ".ci";
            const bool build = name == "build" || name.starts_with("build-");
            if (top && (hidden || build)) at.disable_recursion_pending();
        } else if (at->is_regular_file() && name != ".git") {  // a file if this is a linked checkout
            found.push_back(fs::relative(at->path(), root()).generic_string());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace tree
