// The manual and the completions say what the command does, no more and no less.
#include "program.hpp"
#include "tools/mortise/exit_codes.hpp"
#include "tools/mortise/verbs.hpp"

#include <cstdio>
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
