// What all verbs have in common: help that fits a screen and is true, one line for each mistake, no secrets.
#include "tools/mortise/verbs.hpp"

#include "program.hpp"
#include "support/sanitizers.hpp"
#include "tools/mortise/help.hpp"

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

namespace command {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string shell_quoted(const std::string& word) {
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string{c};
    return text + "'";
}

class every_verb : public command_suite {
protected:
    // A line for the shell, with the program found as `mortise`.
    struct shell_line {
        std::string text;
        std::string mark;  // of the files with what it says
        child runs;
    };
    shell_line start_shell(const std::string& text) const {
        const std::string folder = std::filesystem::path(MORTISE_PROGRAM).parent_path();
        const std::string mark = "-of-shell" + std::to_string(++runs_);
        return {text, mark, child{[&] {
                    redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
                    redirect(STDOUT_FILENO, scratch_ / ("out" + mark), O_WRONLY | O_CREAT | O_TRUNC);
                    redirect(STDERR_FILENO, scratch_ / ("err" + mark), O_WRONLY | O_CREAT | O_TRUNC);
                    ::setenv("PATH", (folder + ":" + ::getenv("PATH")).c_str(), 1);
                    ::setenv("SCRATCH", scratch_.path().c_str(), 1);
                    ::setenv("XDG_CONFIG_HOME", scratch_.path().c_str(), 1);
                    ::execlp("sh", "sh", "-c", text.c_str(), nullptr);
                    return 98;
                }}};
    }
    outcome end_of(shell_line& line) const {
        outcome got{.code = line.runs.wait(60s)};
        got.out = content(scratch_ / ("out" + line.mark));
        got.err = content(scratch_ / ("err" + line.mark));
        return got;
    }
    outcome shell(const std::string& text) const {
        shell_line line = start_shell(text);
        return end_of(line);
    }
};

void expect_a_screen(const std::string& text, std::string_view whose) {
    std::istringstream lines{text};
    std::string each;
    int count = 0;
    for (; std::getline(lines, each); ++count) EXPECT_LE(each.size(), 80U) << whose << ": " << each;
    EXPECT_LE(count, 24) << whose;
}

TEST_F(every_verb, help_fits_a_screen) {
    expect_a_screen(help(), "mortise");
    for (const verb* each : verbs()) {
        expect_a_screen(help_of(*each), each->name);
        EXPECT_THAT(help(), HasSubstr("  " + std::string(each->name) + " "));
        EXPECT_FALSE(each->examples.empty()) << each->name;
        EXPECT_EQ(mortise({std::string(each->name), "--help"}).out, help_of(*each));
    }
    EXPECT_EQ(mortise({"--help"}).out, help());
    EXPECT_EQ(mortise({"help", "run"}).out, help_of(run_verb()));
}

TEST_F(every_verb, letters_and_names_are_unique) {
    for (const verb* each : verbs()) {
        std::vector<option> all{each->options};
        all.insert(all.end(), common_options().begin(), common_options().end());
        std::set<std::string> seen;
        for (const option& one : all) {
            EXPECT_FALSE(one.help.empty()) << each->name << " --" << one.name;
            EXPECT_TRUE(seen.insert(std::string(one.name)).second) << each->name << " --" << one.name;
            if (one.letter == 0) continue;
            EXPECT_TRUE(seen.insert({one.letter}).second) << each->name << " -" << one.letter;
        }
    }
}

TEST_F(every_verb, the_examples_of_the_help_work) {
    for (const verb* each : verbs()) {
        if (each->name == "lab" && (mortise::testing::under_asan || mortise::testing::under_tsan))
            continue;  // is not built then
        for (const std::string_view example : each->examples) {
            const outcome got = shell(std::string(example));
            EXPECT_EQ(got.code, 0) << example << "\n" << got.err;
            EXPECT_EQ(got.err, "") << example;
        }
    }
}

TEST_F(every_verb, says_its_version) {
    EXPECT_THAT(mortise({"--version"}).out, ::testing::MatchesRegex("mortise [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

// hostile.txt: "$ line for the shell", then what it says on stderr, then "exit N". MORTISE_RECORD=1 writes it anew; read what
// changed before it is committed.
TEST_F(every_verb, hostile_command_lines_are_answered_as_recorded) {
    const std::string file = std::string(MORTISE_SOURCE_DIR) + "/tests/tools/hostile.txt";
    std::istringstream recorded{content(file)};
    std::string played;
    int lines = 0;
    for (std::string each; std::getline(recorded, each);) {
        if (!each.starts_with("$ ")) continue;
        ++lines;
        const outcome got = shell(each.substr(2));
        std::string said = got.err;
        for (std::size_t at = 0; (at = said.find(scratch_.path(), at)) != said.npos;)
            said.replace(at, scratch_.path().size(), "SCRATCH");
        said = std::regex_replace(said, std::regex{"this build has .*:"}, "this build has STORES");
        played += each + "\n" + said + "exit " + std::to_string(got.code) + "\n\n";
        EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 1) << "one line: " << each;
    }
    EXPECT_GE(lines, 30);
    if (::getenv("MORTISE_RECORD") != nullptr) {
        std::ofstream{file} << played;
    } else {
        EXPECT_EQ(content(file), played);
    }
}

// A password may stand in the environment, in a file and in a file that a file names. It must reach neither output nor the
// command line of anybody.
TEST_F(every_verb, secrets_are_never_shown) {
    const std::string canary = "CANARY7391";
    const std::string url = "redis://ann:" + canary + "@127.0.0.1:1/0";
    std::ofstream{scratch_ / "url"} << url << "\n";
    std::ofstream{scratch_ / "secret"} << canary << "\n";
    std::ofstream{scratch_ / "conf"} << "store = redis://ann@127.0.0.1:1/0\npassword_file = " << scratch_ / "secret"
                                     << "\n";
    std::ofstream{scratch_ / "bad-conf"} << "store = host:\npassword = " << canary << "\n";
    // Without -w they go on asking for ten seconds; that one of them does is enough.
    const std::string verb_lines[] = {"list",
                                      "show x",
                                      "run -v -w 0.2s x -- true",
                                      "hold -v -w 0.2s x",
                                      "acquire -v x",
                                      "release -v x --id 00000000000000000000000000000000"};
    for (const std::string& each : verb_lines) {
        std::vector<shell_line> ways;  // at once: most of them wait
        for (const std::string& way :
             {"MORTISE_STORE=" + shell_quoted(url) + " mortise " + each,
              "mortise " + each.substr(0, each.find(' ')) + " --store-file $SCRATCH/url " +
                  each.substr(each.find(' ') == each.npos ? each.size() : each.find(' ')),
              "unset MORTISE_STORE; MORTISE_CONFIG=$SCRATCH/conf mortise " + each,
              "unset MORTISE_STORE; MORTISE_CONFIG=$SCRATCH/bad-conf mortise " + each,
              "mortise " + each.substr(0, each.find(' ')) + " --store " + shell_quoted(url),
              "mortise " + each.substr(0, each.find(' ')) + " --json --store=" + shell_quoted(url)})
            ways.push_back(start_shell(way));
        for (shell_line& way : ways) {
            const outcome got = end_of(way);
            EXPECT_NE(got.code, 0) << way.text;
            EXPECT_NE(got.code, -1000) << way.text;
            EXPECT_THAT(got.out + got.err, Not(HasSubstr(canary))) << way.text;
            EXPECT_THAT(got.err, Not(::testing::IsEmpty())) << way.text;
        }
    }
    // Nobody's command line has it while a command runs with a store from a file.
    std::ofstream{scratch_ / "host"} << "host:" << scratch_ / canary << "\n";
    const outcome ran = shell(
        "mortise run --store-file $SCRATCH/host x -- sh -c "
        "'for p in $$ $PPID $(ps -o ppid= -p $PPID); do tr \"\\\\0\" \" \" < /proc/$p/cmdline; done; "
        "env | grep -v ^SCRATCH'");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("mortise run"));
    EXPECT_THAT(ran.out, Not(HasSubstr(canary)));
}

}  // namespace
}  // namespace command
