// The verbs of the command. One file each.
//
// To add one: write x.cpp with a function `const verb& x_verb()` that describes it, declare that below and name it in
// verbs.cpp. Help, manual check, completion and the tests of all verbs find it there.
#pragma once

#include "arguments.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace command {

struct settings;

struct request {
    const arguments& given;
    const command::settings& settings;
};

struct verb {
    std::string_view name;
    std::string_view summary;       // half a line, for `mortise --help`
    std::string_view usage;         // what follows the name: "[--json] NAME"
    std::vector<option> options{};  // besides common_options()
    command::words words{};
    std::string_view notes{};  // what else the help has to say; lines end with \n
    std::string_view common =  // what the help says of common_options()
        "  --store URL, --require-store, --patience T, --json, -v: see mortise --help\n";
    std::vector<std::string_view> examples{};  // whole command lines, run by a test as they are
    int (*perform)(const request&);            // the exit code; throws failure and mortise::error
};

// --store, --store-file, --require-store, --patience, --json, -v, --help: what every verb takes.
std::span<const option> common_options();

std::span<const verb* const> verbs();

const verb& run_verb();
const verb& once_verb();
const verb& elect_verb();
const verb& hold_verb();
const verb& acquire_verb();
const verb& renew_verb();
const verb& release_verb();
const verb& list_verb();
const verb& show_verb();
const verb& watch_verb();
const verb& break_verb();
const verb& doctor_verb();
const verb& schema_verb();
const verb& bench_verb();
const verb& lab_verb();

}  // namespace command
