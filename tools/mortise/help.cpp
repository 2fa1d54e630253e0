#include "help.hpp"

#include <algorithm>

namespace command {
namespace {

std::string padded(std::string text, std::size_t width) {
    text.resize(std::max(text.size() + 1, width), ' ');
    return text;
}

// By its letter, where it has one: the manual has room for both.
std::string shown(const option& which) {
    const std::string text = which.letter != 0 ? std::string{'-', which.letter} : "--" + std::string(which.name);
    return which.value.empty() ? text : text + " " + std::string(which.value);
}

}  // namespace

std::string help() {
    std::string text =
        "usage: mortise VERB [options]...     (mortise VERB --help for details)\n"
        "Locks across threads, processes and machines.\n\n";
    for (const verb* each : verbs())
        text += "  " + padded(std::string(each->name), 10) + std::string(each->summary) + "\n";
    return text +
           "\nEvery verb takes --store URL, --store-file FILE, --require-store, --patience T,\n"
           "--json, -v and --help. The store is that of --store, MORTISE_STORE, mortise.conf\n"
           "or host: (this user's processes on this machine). -v shows which one is used.\n"
           "Exit: 0, 1 busy, 64 usage, 69 store unreachable, 74 output, 75 lock lost,\n"
           "78 configuration, 126/127 command not run, 128+n signal n.\n";
}

std::string help_of(const verb& which) {
    std::string text = "usage: mortise " + std::string(which.name) +
                       (which.usage.empty() ? std::string{} : " " + std::string(which.usage)) + "\n" +
                       std::string(which.notes);
    for (const option& each : which.options) text += "  " + padded(shown(each), 16) + std::string(each.help) + "\n";
    text += which.common;
    if (!which.examples.empty()) text += which.examples.size() == 1 ? "Example:\n" : "Examples:\n";
    for (const std::string_view each : which.examples) text += "  " + std::string(each) + "\n";
    return text;
}

}  // namespace command
