// The manual and the completions say what the command does, no more and no less.
#include "program.hpp"
#include "tools/mortise/exit_codes.hpp"
#include "tools/mortise/verbs.hpp"

#include <cstdio>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

namespace command {
namespace {

using ::testing::HasSubstr;

std::string source(const std::string& path) {
    const std::string text = content(std::string(MORTISE_SOURCE_DIR) + "/" + path);
    EXPECT_NE(text, "") << path;
    return text;
}

std::vector<option> options_of(const verb& which) {
    std::vector<option> all{which.options};
    all.insert(all.end(), common_options().begin(), common_options().end());
    return all;
}

// "\-\-no\-renew", as a manual writes it.
std::string in_roff(const std::string& text) {
    std::string shown;
    for (const char c : text) shown += c == '-' ? std::string("\\-") : std::string{c};
    return shown;
}

TEST(manual, has_every_verb_and_every_option) {
    const std::string page = source("docs/man/mortise.1");
    for (const verb* each : verbs()) {
        const std::string usage = each->usage.empty() ? "" : " " + std::string(each->usage);
        EXPECT_THAT(page, HasSubstr(".SS \"mortise " + std::string(each->name) + usage + "\"\n"));
        for (const option& one : options_of(*each)) {
            EXPECT_THAT(page, HasSubstr(in_roff("--" + std::string(one.name))));
            if (one.letter != 0) {
                EXPECT_THAT(page, HasSubstr(".BR " + in_roff({'-', one.letter}) + " "));
            }
        }
    }
}

TEST(manual, has_every_exit_code) {
    const std::string page = source("docs/man/mortise.1");
    for (const exit_code each : {exit_code::done, exit_code::busy, exit_code::usage, exit_code::unavailable,
                                 exit_code::output, exit_code::lost, exit_code::configuration})
        EXPECT_THAT(page, HasSubstr("\n.B " + std::to_string(static_cast<int>(each)) + "\n"));
    EXPECT_THAT(page, HasSubstr(".BR 126 \", \" 127\n"));
}

// What a store's README says about addresses: its schemes, and the options of its table.
TEST(manual, has_every_scheme_and_every_option_of_an_address) {
    const std::string page = source("docs/man/mortise.1");
    const std::size_t begins = page.find("\n.SH STORES\n");
    ASSERT_NE(begins, page.npos);
    const std::string stores = page.substr(begins, page.find("\n.SH ", begins + 1) - begins);
    std::size_t found = 0;
    for (const char* store : {"host", "memory", "redis", "etcd", "zookeeper"}) {
        const std::string readme = source("src/stores/" + std::string(store) + "/README.md");
        const std::regex scheme{"(?:^|\n|`)([a-z+]+:(?://)?)"};
        for (std::sregex_iterator it{readme.begin(), readme.end(), scheme}; it != std::sregex_iterator{}; ++it)
            if ((*it)[1].str().starts_with(store) && (*it)[1] != "memory://") {  // which it says is none
                EXPECT_THAT(stores, HasSubstr((*it)[1].str())) << store;
                ++found;
            }
        std::istringstream lines{readme};
        const std::regex option{"`([a-z_]+=)"};
        for (std::string row; std::getline(lines, row);) {
            if (!row.starts_with("| `")) continue;
            const std::string cell = row.substr(0, row.find('|', 1));
            for (std::sregex_iterator it{cell.begin(), cell.end(), option}; it != std::sregex_iterator{}; ++it, ++found)
                EXPECT_THAT(stores, HasSubstr((*it)[1].str())) << store;
        }
    }
    EXPECT_GT(found, 20u);
}

// What bash offers for a word at the end of the line.
std::set<std::string> offered(const std::string& words) {
    const std::string script =
        ". \"" MORTISE_SOURCE_DIR "/packaging/completions/mortise.bash\"; COMP_WORDS=(" + words +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _mortise; printf \"%s\\n\" \"${COMPREPLY[@]}\"";
    std::FILE* from = ::popen(("bash -c '" + script + "'").c_str(), "r");
    std::string text;
    char some[4096];
    while (const std::size_t size = std::fread(some, 1, sizeof some, from)) text.append(some, size);
    EXPECT_EQ(::pclose(from), 0);
    std::set<std::string> all;
    std::istringstream lines{text};
    for (std::string each; std::getline(lines, each);) all.insert(each);
    return all;
}

TEST(completion, bash_offers_the_verbs_and_their_options) {
    std::set<std::string> names{"--help", "--version"};
    for (const verb* each : verbs()) {
        names.insert(std::string(each->name));
        std::set<std::string> options;
        for (const option& one : options_of(*each)) options.insert("--" + std::string(one.name));
        EXPECT_EQ(offered("mortise " + std::string(each->name) + " --"), options) << each->name;
    }
    EXPECT_EQ(offered("mortise \"\""), names);
    EXPECT_TRUE(offered("mortise run x -- tru").contains("true")) << "after -- a command";
}

TEST(completion, zsh_knows_the_verbs_and_their_options) {
    const std::string text = source("packaging/completions/_mortise");
    for (const verb* each : verbs()) {
        EXPECT_THAT(text, HasSubstr("    '" + std::string(each->name) + ":"));
        for (const option& one : options_of(*each)) EXPECT_THAT(text, HasSubstr("--" + std::string(one.name)));
    }
}

}  // namespace
}  // namespace command
