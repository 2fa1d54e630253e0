// The command line of `mortise`, up to where something would be done: words are separated by zeros, the first is the verb. Then the
// text of a configuration file.
#include "fuzz/target.hpp"
#include "tools/mortise/arguments.hpp"
#include "tools/mortise/claim_arguments.hpp"
#include "tools/mortise/failure.hpp"
#include "tools/mortise/help.hpp"
#include "tools/mortise/settings.hpp"
#include "tools/mortise/verbs.hpp"

#include <mortise/error.hpp>

#include <string>
#include <vector>

namespace mortise::fuzzing::command {
namespace {

std::vector<std::string> words_of(std::string_view input) {
    std::vector<std::string> all;
    while (!input.empty() && all.size() < 40) {
        const auto end = input.find('\0');
        all.emplace_back(input.substr(0, end));
        input = end == std::string_view::npos ? std::string_view{} : input.substr(end + 1);
    }
    return all;
}

// Nothing that it would read from a file.
const char* no_environment(const char* name) {
    return std::string_view{name} == "MORTISE_STORE" ? "memory:" : nullptr;
}

void read_line(const ::command::verb& verb, const std::vector<std::string>& rest) {
    std::vector<::command::option> known{verb.options};
    known.insert(known.end(), ::command::common_options().begin(), ::command::common_options().end());
    const ::command::arguments given = ::command::read(known, verb.words, rest);
    if (given.has("--help")) {
        expect(!::command::help_of(verb).empty(), "a verb without help");
        return;
    }
    if (given.has("--store-file")) return;
    const ::command::settings settings = ::command::read_settings(given, no_environment);
    if (given.words.empty()) return;
    static_cast<void>(::command::claim_of({given, settings}));
    static_cast<void>(::command::busy_code_of(given));
}

template <class Call>
void may_be_refused(Call&& call) {
    try {
        call();
    } catch (const ::command::failure&) {
    } catch (const error&) {
    }
}

}  // namespace

void run(std::string_view input) {
    if (input.size() > 4000) return;
    const auto line = words_of(input);
    if (line.empty()) return;
    for (const ::command::verb* each : ::command::verbs())
        if (each->name == line.front()) may_be_refused([&] { read_line(*each, {line.begin() + 1, line.end()}); });
    may_be_refused([&] { static_cast<void>(::command::read_configuration("mortise.conf", std::string(input))); });
    may_be_refused([&] { static_cast<void>(::command::holds_secret(input)); });
    may_be_refused([&] { static_cast<void>(::command::with_password(input, "secret")); });
}

}  // namespace mortise::fuzzing::command
