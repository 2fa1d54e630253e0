// Siblings have the same inside, scripts run, and nothing points to the machine it was written on.
#include "tree/repository.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

namespace fs = std::filesystem;

bool is_store(const fs::directory_entry& folder) {
    return folder.is_directory() && folder.path().filename() != "sql";  // which is what two stores share
}

TEST(repository, every_store_has_the_same_inside) {
    std::size_t stores = 0;
    for (const auto& folder : fs::directory_iterator{tree::root() / "src/stores"}) {
        if (!is_store(folder)) continue;
        ++stores;
        const std::string name = folder.path().filename().string();
        for (const std::string& file :
             {std::string{"CMakeLists.txt"}, std::string{"README.md"}, name + "_store.hpp", name + "_store.cpp",
              std::string{"fixture.hpp"}, std::string{"fixture.cpp"}, name + "_store_test.cpp"}) {
            EXPECT_TRUE(fs::exists(folder.path() / file)) << "src/stores/" << name << " lacks " << file;
        }
    }
    EXPECT_GT(stores, 0U);
}

std::string text_of(const fs::path& file) {
    std::ifstream in{tree::root() / file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(repository, the_page_of_errors_knows_every_store) {
    const std::string page = text_of("docs/errors.md");
    const auto begin = page.find("| `unknown_store` |");
    ASSERT_NE(begin, page.npos);
    const std::string unknown_store = page.substr(begin, page.find('\n', begin) - begin);
    for (const auto& folder : fs::directory_iterator{tree::root() / "src/stores"}) {
        if (!is_store(folder)) continue;
        const std::string build = text_of(folder.path() / "CMakeLists.txt");
        std::smatch found;
        ASSERT_TRUE(std::regex_search(build, found, std::regex{"SCHEMES ([^\n]*)"})) << folder;
        std::istringstream schemes{found[1]};
        for (std::string scheme; schemes >> scheme;) {
            EXPECT_NE(unknown_store.find("`" + scheme + ":"), page.npos) << scheme << " in the row of unknown_store";
            EXPECT_NE(page.find("`" + scheme + ":"), begin + unknown_store.find("`" + scheme + ":"))
                << scheme << " in the table of stores";
        }
    }
}

TEST(repository, every_example_has_its_output_recorded) {
    for (const auto& entry : fs::directory_iterator{tree::root() / "examples"}) {
        const fs::path& file = entry.path();
        if (file.extension() != ".cpp") continue;
        EXPECT_TRUE(fs::exists(file.parent_path() / "expected" / (file.stem().string() + ".txt"))) << file;
    }
}

TEST(repository, scripts_can_be_run) {
    for (const char* script : {"quickstart", "test", ".ci/run", ".ci/preset"}) {
        const auto status = fs::status(tree::root() / script);
        EXPECT_TRUE(fs::is_regular_file(status)) << script;
        EXPECT_NE(status.permissions() & fs::perms::owner_exec, fs::perms::none) << script;
    }
}

// The first thing in the text that exists only on somebody's machine or network.
std::optional<std::string> of_one_machine(const std::string& text) {
    // Home directories and mounts; hosts without a dot, with an inside name or with a private number. The words stand
    // apart so that this file does not accuse itself.
    static const std::regex pattern{
        "(^|[^A-Za-z0-9_.}/-])/(ho"
        "me|ro"
        "ot|Us"
        "ers|wo"
        "rk|mn"
        "t)/[A-Za-z0-9_.-]+"
        "|https?:/"
        "/([A-Za-z0-9-]+[:/]|[A-Za-z0-9.-]+\\.(internal|local|lan|corp|intranet)\\b"
        "|10\\.[0-9]|192\\.168\\.|172\\.(1[6-9]|2[0-9]|3[01])\\.)"};
    std::smatch found;
    if (text.find('/') == text.npos || !std::regex_search(text, found, pattern)) return std::nullopt;
    return found.str();
}

TEST(repository, nothing_points_to_one_machine) {
    for (const std::string& file : tree::files()) {
        std::ifstream in{tree::root() / file, std::ios::binary};
        std::string line;
        for (int number = 1; std::getline(in, line); ++number) {
            const auto found = of_one_machine(line);
            EXPECT_FALSE(found) << file << ":" << number << ": " << *found;
        }
    }
}

TEST(repository, knows_a_machine_when_it_sees_one) {
    const std::string slash = "/";
    EXPECT_TRUE(of_one_machine("see " + slash + "home" + slash + "ann/notes"));
    EXPECT_TRUE(of_one_machine(slash + "root" + slash + "x"));
    EXPECT_TRUE(of_one_machine("http:/" + slash + "mirror:8081/debian"));
    EXPECT_TRUE(of_one_machine("https:/" + slash + "packages.example.internal/x"));
    EXPECT_TRUE(of_one_machine("http:/" + slash + "10.1.2.3/x"));
    EXPECT_FALSE(of_one_machine("https:/" + slash + "www.apache.org/licenses/"));
    EXPECT_FALSE(of_one_machine("redis:/" + slash + "127.0.0.1"));
    EXPECT_FALSE(of_one_machine(slash + "usr/share and src" + slash + "work" + slash + "x"));
}

}  // namespace
