// mortise lab: hands over to the program of the stories, mortise-lab, so that the command itself has none of it.
#include "failure.hpp"
#include "verbs.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

namespace command {
namespace {

// Beside the command, as the build and the installation put it.
std::string program() {
    std::error_code unknown;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
    return unknown ? "mortise-lab" : (here / "mortise-lab").string();
}

int lab(const request& asked) {
    if (asked.given.has("--store") || asked.given.has("--store-file"))
        refuse("lab: the stories need servers whose clocks they can move, and start their own: leave out --store");
    std::vector<std::string> line{program()};
    for (const std::string& word : asked.given.words) line.push_back(word);
    for (const char* flag : {"--all", "--json"})
        if (asked.given.has(flag)) line.emplace_back(flag);
    for (const char* option : {"--form", "--svg", "--html", "--lang"})
        if (const auto value = asked.given.value(option)) {
            line.emplace_back(option);
            line.push_back(*value);
        }
    std::vector<char*> pointers;
    for (std::string& word : line) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execvp(pointers[0], pointers.data());
    throw failure(errno == ENOENT ? exit_code::not_found : exit_code::cannot_execute,
                  "cannot start " + line[0] + ": " + std::strerror(errno) + "; build or install Mortise with its lab");
}

}  // namespace

const verb& lab_verb() {
    static const verb made{
        .name = "lab",
        .summary = "plays stories of locks that break",
        .usage = "[run STORY...|run --all]",
        .options = {{0, "all", "", "all stories, and a table of what was expected and seen"},
                    {0, "form", "FORM", "naive or mended only; default: one after the other"},
                    {0, "svg", "FILE", "draw the timeline; a directory for several"},
                    {0, "html", "FILE", "a page to step through; a directory for several"},
                    {0, "lang", "LANG", "en or zh"}},
        .words = {.least = 0, .most = 1000, .usage = "[run STORY...]"},
        .notes =
            "Without words, lists the stories: what locks of tutorials do wrong, and how it\n"
            "ends. run plays them on servers of its own, which it starts and ends; they must\n"
            "be installed. Exit: 0 all went as told, 1 something else was seen.\n",
        .examples = {"mortise lab", "mortise lab run setnx-then-expire"},
        .perform = &lab,
    };
    return made;
}

}  // namespace command
