#include "tools/mortise/arguments.hpp"

#include "tools/mortise/failure.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using line = std::vector<std::string>;

const std::vector<option> known{
    {'n', "nonblock"}, {'w', "wait", "T"}, {'E', "conflict-exit-code", "CODE"}, {0, "lease", "T"}, {'h', "help"}};
const words name_and_command{.least = 1, .most = 1, .then_command = true, .usage = "NAME -- COMMAND..."};
const words one_name{.least = 1, .most = 1, .usage = "NAME"};

arguments read_run(const line& given) {
    return read(known, name_and_command, given);
}

std::string complaint(const words& expected, const line& given) {
    try {
        static_cast<void>(read(known, expected, given));
    } catch (const failure& e) {
        EXPECT_EQ(e.code(), exit_code::usage);
        return e.what();
    }
    return "none";
}

TEST(arguments, a_value_may_stand_apart_or_attached) {
    for (const line& given :
         {line{"-w", "2s", "x", "--", "c"}, line{"-w2s", "x", "--", "c"}, line{"--wait", "2s", "x", "--", "c"},
          line{"--wait=2s", "x", "--", "c"}, line{"x", "-nw2s", "c"}}) {
        EXPECT_EQ(read_run(given).value("--wait"), "2s") << given.front();
    }
}

TEST(arguments, what_follows_the_command_is_the_commands_own) {
    const arguments got = read_run({"-n", "x", "grep", "-n", "--lease", "--", "y"});
    EXPECT_THAT(got.words, ElementsAre("x"));
    EXPECT_THAT(got.command, ElementsAre("grep", "-n", "--lease", "--", "y"));
    EXPECT_FALSE(got.has("--lease"));
    EXPECT_TRUE(got.has("--nonblock"));
}

TEST(arguments, dashes_end_the_options) {
    const arguments got = read_run({"x", "--", "-n"});
    EXPECT_THAT(got.command, ElementsAre("-n"));
    EXPECT_FALSE(got.has("--nonblock"));
    EXPECT_THAT(read(known, one_name, line{"--", "--odd-name"}).words, ElementsAre("--odd-name"));
    EXPECT_THAT(read_run({"--", "--odd-name", "c"}).words, ElementsAre("--odd-name"));
}

TEST(arguments, help_asks_for_nothing_else) {
    EXPECT_TRUE(read_run({"-n", "--help"}).has("--help"));
    EXPECT_TRUE(read_run({"-h", "--no-such-option"}).has("--help"));
    EXPECT_FALSE(read_run({"x", "--", "c", "--help"}).has("--help"));
}

TEST(arguments, an_empty_word_is_a_word) {
    EXPECT_THAT(read(known, one_name, line{""}).words, ElementsAre(""));
    EXPECT_THAT(read_run({"x", "--", ""}).command, ElementsAre(""));
    EXPECT_THAT(read_run({"-", "--", "c"}).words, ElementsAre("-"));
}

TEST(arguments, flocks_names_for_them_are_understood) {
    std::vector<option> all{known};
    all.push_back({'x', "exclusive"});
    const auto got = [&](const line& given) { return read(all, name_and_command, given); };
    EXPECT_TRUE(got({"-e", "x", "c"}).has("--exclusive"));
    EXPECT_TRUE(got({"--nb", "x", "c"}).has("--nonblock"));
    EXPECT_EQ(got({"--timeout", "2s", "x", "c"}).value("--wait"), "2s");
    EXPECT_EQ(got({"--timeout=2s", "x", "c"}).value("--wait"), "2s");
    EXPECT_THAT(complaint(one_name, {"-o", "x"}), HasSubstr("only run and once have it"));
    EXPECT_THAT(complaint(name_and_command, {"-w1", "--timeout", "2", "x", "c"}), HasSubstr("--wait is given twice"));
    EXPECT_THAT(complaint(one_name, {"-u", "x"}), HasSubstr("released with mortise release"));
    EXPECT_THAT(complaint(one_name, {"--unlock", "x"}), HasSubstr("released with mortise release"));
    EXPECT_THAT(complaint(one_name, {"-F", "x"}), HasSubstr("omit it"));
    EXPECT_THAT(complaint(one_name, {"--no-fork", "x"}), HasSubstr("omit it"));
    EXPECT_THAT(complaint(one_name, {"-V"}), HasSubstr("mortise --version"));
    const std::vector<option> nothing_taken{{'h', "help"}};
    EXPECT_THROW(read(nothing_taken, one_name, line{"-o", "x"}), failure) << "a verb that takes no lock";
}

TEST(arguments, mistakes_are_named) {
    EXPECT_THAT(complaint(one_name, {}), HasSubstr("expected NAME"));
    EXPECT_THAT(complaint(one_name, {"a", "b"}), HasSubstr("'b' is one argument too many"));
    EXPECT_THAT(complaint(name_and_command, {"a"}), HasSubstr("NAME -- COMMAND"));
    EXPECT_THAT(complaint(name_and_command, {"a", "--"}), HasSubstr("missing"));
    EXPECT_THAT(complaint(one_name, {"--lese", "2", "x"}), HasSubstr("did you mean --lease?"));
    EXPECT_THAT(complaint(one_name, {"-z"}), HasSubstr("'-z'"));
    EXPECT_THAT(complaint(one_name, {"--"}), HasSubstr("missing"));
    EXPECT_THAT(complaint(one_name, {"x", "-w"}), HasSubstr("--wait needs a value: --wait T"));
    EXPECT_THAT(complaint(one_name, {"x", "-w", "1", "--wait=2"}), HasSubstr("is given twice"));
    EXPECT_THAT(complaint(one_name, {"x", "--nonblock=1"}), HasSubstr("takes no value"));
    EXPECT_THAT(complaint(one_name, {"x", "--=1"}), HasSubstr("no option"));
    EXPECT_THAT(complaint(one_name, {"x", "--\x1b[2J"}), HasSubstr("\\x1b")) << "nothing reaches the terminal raw";
}

}  // namespace
}  // namespace command
