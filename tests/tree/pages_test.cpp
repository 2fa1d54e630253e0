// Pages lead somewhere: their links, and the files that the page of the architecture names.
#include "tree/repository.hpp"

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

// Without code.
std::string text_of_page(const std::string& file) {
    std::ifstream in{tree::root() / file, std::ios::binary};
    std::string text;
    bool fenced = false;
    for (std::string line; std::getline(in, line);) {
        if (line.find("```") != line.npos) fenced = !fenced;
        if (!fenced) text += line + "\n";
    }
    return text;
}

std::vector<std::string> found_in(const std::string& text, const char* pattern) {
    const std::regex wanted{pattern};
    std::vector<std::string> found;
    for (std::sregex_iterator at{text.begin(), text.end(), wanted}, end; at != end; ++at) found.push_back((*at)[1]);
    return found;
}

// Without those to other places: [text](https://...), [text](#section).
std::vector<std::string> links_in(const std::string& text) {
    return found_in(text, R"(\]\(((?!https?:|#)[^)#\s]+)[^)]*\))");
}

// `src/core/lease.cpp`: from the root of the repository.
std::vector<std::string> paths_in(const std::string& text) {
    return found_in(text, R"(`((?:include|src|tests|tools|docs|cmake|packaging|examples|\.ci)/[^`\s]*)`)");
}

TEST(pages, links_lead_to_files) {
    std::size_t seen = 0;
    for (const std::string& file : tree::files()) {
        if (!file.ends_with(".md")) continue;
        for (const std::string& link : links_in(text_of_page(file))) {
            ++seen;
            EXPECT_TRUE(fs::exists((tree::root() / file).parent_path() / link)) << file << ": " << link;
        }
    }
    EXPECT_GT(seen, 30U);
}

TEST(pages, the_architecture_names_files_that_exist) {
    const std::vector<std::string> paths = paths_in(text_of_page("docs/architecture.md"));
    for (const std::string& path : paths) EXPECT_TRUE(fs::exists(tree::root() / path)) << path;
    EXPECT_GT(paths.size(), 80U);
}

TEST(pages, links_and_paths_are_recognised) {
    EXPECT_EQ(links_in("[a](b.md), [c](d.md#e), ![f](g.svg) [h](https://x.org/y) [i](#j)"),
              (std::vector<std::string>{"b.md", "d.md", "g.svg"}));
    EXPECT_EQ(paths_in("`src/core/lease.cpp` and `valid()`, `src/locks/`"),
              (std::vector<std::string>{"src/core/lease.cpp", "src/locks/"}));
}

}  // namespace
