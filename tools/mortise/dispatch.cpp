#include "dispatch.hpp"

#include "failure.hpp"
#include "help.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace command {
namespace {

const verb& named(const std::string& name) {
    std::vector<std::string_view> names;
    for (const verb* each : verbs()) {
        if (each->name == name) return *each;
        names.push_back(each->name);
    }
    const std::string_view meant = nearest(name, names);
    refuse("there is no verb " + in_quotes(name) + (meant.empty() ? "" : "; did you mean " + std::string(meant) + "?") +
           " (mortise --help lists them)");
}

int perform(const verb& which, std::span<const std::string> rest) {
    std::vector<option> known{which.options};
    known.insert(known.end(), common_options().begin(), common_options().end());
    const arguments given = [&] {
        try {
            return read(known, which.words, rest);
        } catch (const failure& e) {
            throw failure(e.code(), std::string(which.name) + ": " + e.what() + " (mortise " + std::string(which.name) +
                                        " --help)");
        }
    }();
    if (given.has("--help")) {
        std::cout << help_of(which);
        return 0;
    }
    return which.perform({given, read_settings(given, [](const char* name) { return std::getenv(name); })});
}

int perform(std::span<const std::string> line) {
    if (line.empty()) refuse("a verb is missing (mortise --help lists them)");
    if (line[0] == "--help" || line[0] == "-h" || line[0] == "help") {
        std::cout << (line.size() > 1 && line[0] == "help" ? help_of(named(line[1])) : help());
        return 0;
    }
    if (line[0] == "--version" || line[0] == "-V") {
        std::cout << "mortise " MORTISE_VERSION "\n";
        return 0;
    }
    if (line[0].starts_with('-')) refuse("the verb must come first, then its options (mortise --help)");
    return perform(named(line[0]), line.subspan(1));
}

bool wants_json(std::span<const std::string> line) {
    const auto command_begins = std::find(line.begin(), line.end(), "--");
    return std::find(line.begin(), command_begins, "--json") != command_begins;
}

}  // namespace

int dispatch(std::span<const std::string> line) try {
    const int code = perform(line);
    if (!std::cout.flush()) throw failure(exit_code::output, "cannot write the answer to stdout");
    return code;
} catch (const failure& e) {
    return report(wants_json(line), e.code(), e.what());
} catch (const mortise::error& e) {
    return report(wants_json(line), code_of(e.code()), e.what());
} catch (const std::exception& e) {
    return report(wants_json(line), exit_code::unavailable, e.what());
}

}  // namespace command
