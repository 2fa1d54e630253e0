#include "lab/draw/points.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace lab {
namespace {

// What stands between quotes after `.at(`, up to the end of the statement.
void add_points(const std::string& code, std::set<std::string>& to) {
    for (std::size_t at = code.find("me.at("); at != code.npos; at = code.find("me.at(", at + 1)) {
        const std::string call = code.substr(at, code.find(';', at) - at);
        for (std::size_t from = call.find('"'); from != call.npos;) {
            const std::size_t ends = call.find('"', from + 1);
            if (ends - from > 2) to.insert(call.substr(from + 1, ends - from - 1));  // not a name: "A"
            from = call.find('"', ends + 1);
        }
    }
}

TEST(points, have_a_chinese_name) {
    std::set<std::string> all{"stock read"};
    for (const auto& each :
         std::filesystem::recursive_directory_iterator(std::string(MORTISE_SOURCE_DIR) + "/lab/stories")) {
        std::stringstream code;
        code << std::ifstream{each.path()}.rdbuf();
        add_points(code.str(), all);
    }
    EXPECT_GT(all.size(), 20);
    for (const std::string& each : all) EXPECT_NE(point_named(each).zh, each);
}

}  // namespace
}  // namespace lab
