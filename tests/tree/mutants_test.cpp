// The patches of tests/mutants still fit the code that they break, and the tests that they name are there. tests/mutants/run, which
// takes its time, sees whether these fail.
#include "tree/repository.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using text_lines = std::vector<std::string>;

struct mutant {
    struct catcher {
        std::string program;
        std::string filter;
    };
    struct hunk {
        std::string file;
        text_lines before;  // what the file must have, once
        bool changes = false;
    };
    std::string sentence;
    std::vector<catcher> catchers;
    std::vector<hunk> hunks;
};

text_lines lines_of(const std::string& text) {
    text_lines all;
    std::istringstream in{text};
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

std::string text_of_tree(const std::string& file) {
    std::ifstream in{tree::root() / file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

mutant read_mutant(const std::string& text) {
    const std::string caught_by = "Caught by: ";
    mutant all;
    std::string file;
    bool in_hunks = false;
    for (const std::string& line : lines_of(text)) {
        if (line.starts_with("--- a/")) {
            file = line.substr(6);
        } else if (line.starts_with("@@ ")) {
            all.hunks.push_back({.file = file, .before = {}});
            in_hunks = true;
        } else if (line.starts_with("+++ b/") || file.empty() || !in_hunks) {
            if (line.starts_with(caught_by)) {
                const auto space = line.find(' ', caught_by.size());
                all.catchers.push_back({line.substr(caught_by.size(), space - caught_by.size()),
                                        space == line.npos ? "" : line.substr(space + 1)});
            } else if (all.catchers.empty() && file.empty()) {
                all.sentence += (all.sentence.empty() ? "" : " ") + line;
            }
        } else {
            mutant::hunk& now = all.hunks.back();
            if (line.starts_with("+") || line.starts_with("-")) now.changes = true;
            if (!line.starts_with("+")) now.before.push_back(line.empty() ? line : line.substr(1));
        }
    }
    return all;
}

std::size_t times(const text_lines& part, const text_lines& whole) {
    std::size_t found = 0;
    for (auto at = whole.begin(); !part.empty(); ++at, ++found) {
        at = std::search(at, whole.end(), part.begin(), part.end());
        if (at == whole.end()) break;
    }
    return found;
}

// Where the tests of a program are.
std::string folder_of_program(const std::string& program) {
    const std::string subject = program.substr(0, program.rfind('_'));
    if (subject.starts_with("store_")) return "src/stores/" + subject.substr(6) + "/";
    return "tests/" + (subject == "command" ? "tools" : subject) + "/";
}

// By the folder that they are in: "suite, test", as their macros have them.
std::map<std::string, std::set<std::string>> all_tests() {
    static const std::regex macro{"^TEST(?:_F|_P)?\\((\\w+, \\w+)\\)"};
    std::map<std::string, std::set<std::string>> found;
    for (const std::string& file : tree::files()) {
        if (!file.ends_with("_test.cpp")) continue;
        const int depth = file.starts_with("src/stores/") ? 3 : 2;
        std::size_t end = 0;
        for (int i = 0; i < depth; ++i) end = file.find('/', end + 1);
        for (const std::string& line : lines_of(text_of_tree(file))) {
            std::smatch match;
            if (line.starts_with("TEST") && std::regex_search(line, match, macro))
                found[file.substr(0, end + 1)].insert(match[1]);
        }
    }
    return found;
}

// "every_store/suite.test/parameter" as "suite, test".
std::string test_of(const std::string& filter) {
    const auto dot = filter.find('.');
    const auto before = filter.rfind('/', dot);
    const auto suite = before == filter.npos ? 0 : before + 1;
    return dot == filter.npos
               ? filter
               : filter.substr(suite, dot - suite) + ", " + filter.substr(dot + 1, filter.find('/', dot) - dot - 1);
}

std::map<std::string, mutant> mutants_of_tree() {
    const std::string folder = "tests/mutants/";
    std::map<std::string, mutant> all;
    for (const std::string& file : tree::files())
        if (file.starts_with(folder) && file.ends_with(".patch")) all[file] = read_mutant(text_of_tree(file));
    return all;
}

TEST(mutants, still_apply) {
    const auto all = mutants_of_tree();
    EXPECT_GE(all.size(), 24U);
    for (const auto& [name, one] : all) {
        EXPECT_FALSE(one.hunks.empty()) << name << " changes nothing";
        for (const mutant::hunk& part : one.hunks) {
            EXPECT_TRUE(part.changes) << name;
            EXPECT_EQ(times(part.before, lines_of(text_of_tree(part.file))), 1U)
                << name << ": how often " << part.file << " has what it replaces, beginning with\n  "
                << part.before.front() << "\nMake the patch anew, so that it breaks the same promise.";
        }
    }
}

TEST(mutants, name_tests_that_exist) {
    const auto tests = all_tests();
    for (const auto& [name, one] : mutants_of_tree()) {
        EXPECT_TRUE(one.sentence.ends_with(".")) << name << " begins with a sentence on what is broken";
        EXPECT_FALSE(one.catchers.empty()) << name << " lacks a line \"Caught by: PROGRAM FILTER\"";
        for (const mutant::catcher& by : one.catchers) {
            const auto of_program = tests.find(folder_of_program(by.program));
            ASSERT_NE(of_program, tests.end()) << name << ": there is no program " << by.program;
            std::istringstream filters{by.filter};
            for (std::string each; std::getline(filters, each, ':');)
                EXPECT_TRUE(of_program->second.contains(test_of(each)))
                    << name << ": " << by.program << " has no test " << each;
        }
    }
}

TEST(mutants, that_do_not_apply_are_known) {
    const mutant one = read_mutant(
        "It forgets\nthe name.\nCaught by: core_tests a.b\nCaught by: store_host_tests c.d:c.e\n\n"
        "--- a/src/x.cpp\n+++ b/src/x.cpp\n@@ -1,3 +1,2 @@\n one\n-two\n\n@@ -9 +8,2 @@\n--- nine\n++++ ten\n");
    EXPECT_EQ(one.sentence, "It forgets the name.");
    ASSERT_EQ(one.catchers.size(), 2U);
    EXPECT_EQ(one.catchers[1].program, "store_host_tests");
    EXPECT_EQ(one.catchers[1].filter, "c.d:c.e");
    ASSERT_EQ(one.hunks.size(), 2U);
    EXPECT_EQ(one.hunks[0].file, "src/x.cpp");
    EXPECT_EQ(one.hunks[0].before, (text_lines{"one", "two", ""}));
    EXPECT_EQ(one.hunks[1].before, text_lines{"-- nine"});
    EXPECT_EQ(times({"one", "two"}, {"one", "one", "two"}), 1U);
    EXPECT_EQ(times({"one", "two"}, {"one", "three", "two"}), 0U);
    EXPECT_EQ(times({"one"}, {"one", "two", "one"}), 2U);
    EXPECT_EQ(folder_of_program("store_redis_tests"), "src/stores/redis/");
    EXPECT_EQ(folder_of_program("command_tests"), "tests/tools/");
    EXPECT_EQ(test_of("every_store/lists.are_short/redis"), "lists, are_short");
    EXPECT_EQ(test_of("lists.are_short"), "lists, are_short");
}

}  // namespace
