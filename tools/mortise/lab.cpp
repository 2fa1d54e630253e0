// mortise lab: hands over to the program of the stories, mortise-lab, so that the command itself has none of it.
#include "failure.hpp"
#include "settings.hpp"
#include "verbs.hpp"

#include <cerrno>
#include <cstdlib>
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

// In the environment, which others cannot read: the address may have a password. Only on demand: MORTISE_STORE is of programs that
// work, and no stage.
void name_store(const request& asked) {
    constexpr const char* variable = "MORTISE_LAB_STORE";
    if (asked.given.has("--store") || asked.given.has("--store-file"))
        ::setenv(variable, asked.settings.store.c_str(), 1);
    else
        ::unsetenv(variable);
}

int lab(const request& asked) {
    if (asked.given.has("--require-store")) refuse("lab: stories play on your store only where --store names it");
    name_store(asked);
    std::vector<std::string> line{program()};
    for (const std::string& word : asked.given.words) line.push_back(word);
    for (const char* flag : {"--all", "--json", "--allow-non-empty"})
        if (asked.given.has(flag)) line.emplace_back(flag);
    for (const char* option : {"--form", "--svg", "--html", "--lang", "--patience"})
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
                    {0, "svg", "FILE", "draw the timeline, and FILE-mended; DIRECTORY/ for several"},
                    {0, "html", "FILE", "a page to step through; DIRECTORY/ for several stories"},
                    {0, "lang", "LANG", "en or zh"},
                    {0, "allow-non-empty", "", "with --store: a database that has keys will do"}},
        .words = {.least = 0, .most = 1000, .usage = "[run STORY...]"},
        .notes =
            "Without words, lists the stories: what locks of tutorials do wrong, and how it\n"
            "ends. run plays them on servers of its own, which it starts and ends; they must\n"
            "be installed. Their clocks are the lab's: an hour passes at once. With\n"
            "--store redis://HOST/DATABASE they play on your Redis, in real time, with keys\n"
            "of their own, which are deleted at the end. The database must be empty. Stories\n"
            "that kill servers, set clocks or need several or other servers are refused.\n"
            "Exit: 0 all went as told, 1 something else was seen, 69 some were not played.\n",
        .common =
            "  --store URL, --store-file FILE\n"
            "                  your Redis; MORTISE_STORE and mortise.conf are not used\n"
            "  --patience T    with --store: how long it may take to answer; default 10 s\n"
            "  --json          one JSON object per line\n",
        .examples = {"mortise lab", "mortise lab run setnx-then-expire"},
        .perform = &lab,
    };
    return made;
}

}  // namespace command
