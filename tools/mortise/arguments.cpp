#include "arguments.hpp"

#include "failure.hpp"
#include "text.hpp"

#include <algorithm>

namespace command {
namespace {

// What flock(1) has under another name, or has and we have not.
struct habit {
    char letter = 0;
    std::string_view name{};
    std::string_view ours{};    // the name of our option
    std::string_view advice{};  // what to do instead
};

constexpr habit habits[] = {
    {'e', {}, "exclusive", {}},
    {0, "timeout", "wait", {}},
    {0, "nb", "nonblock", {}},
    {'o', "close", {}, "only run and once have it, because they start a command"},
    {'u',
     "unlock",
     {},
     "run releases the lock when its command ends; a lock of acquire is released with mortise release"},
    {'F', "no-fork", {}, "omit it: a process of mortise renews the lock while the command runs"},
    {'V', "version", {}, "use mortise --version"},
};

// Only for verbs that take locks. Nothing: flock(1) has no such option either.
const option* by_habit(std::span<const option> known, char letter, std::string_view name) {
    const auto find = [&](std::string_view ours) {
        return std::find_if(known.begin(), known.end(), [&](const option& o) { return o.name == ours; });
    };
    const auto* const meant = std::find_if(std::begin(habits), std::end(habits), [&](const habit& each) {
        return letter != 0 ? each.letter == letter : !name.empty() && each.name == name;
    });
    if (meant == std::end(habits) || find("nonblock") == known.end()) return nullptr;
    const std::string given = letter != 0 ? std::string{'-', letter} : "--" + std::string(name);
    if (!meant->advice.empty()) refuse("there is no option " + in_quotes(given) + "; " + std::string(meant->advice));
    const auto ours = find(meant->ours);
    return ours == known.end() ? nullptr : &*ours;
}

const option& named(std::span<const option> known, std::string_view name) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const option& o) { return o.name == name; });
    if (found != known.end() && !name.empty()) return *found;
    if (const option* meant = by_habit(known, 0, name)) return *meant;
    std::vector<std::string_view> names;
    for (const option& each : known) names.push_back(each.name);
    const std::string_view meant = nearest(name, names);
    refuse("there is no option " + in_quotes("--" + std::string(name)) +
           (meant.empty() ? std::string{} : "; did you mean --" + std::string(meant) + "?"));
}

const option& lettered(std::span<const option> known, char letter) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const option& o) { return o.letter == letter; });
    if (found != known.end() && letter != 0) return *found;
    if (const option* meant = letter != 0 ? by_habit(known, letter, {}) : nullptr) return *meant;
    refuse("there is no option " + in_quotes(std::string{'-', letter}));
}

}  // namespace

std::optional<std::string> arguments::value(std::string_view option) const {
    const auto found = values_.find(option);
    if (found == values_.end()) return std::nullopt;
    return found->second;
}

arguments read(std::span<const option> known, const words& expected, std::span<const std::string> given) {
    arguments result;
    std::size_t at = 0;
    const auto take = [&](const option& which, std::optional<std::string> value) {
        const std::string name = which.shown();
        if (which.value.empty()) {
            if (value) refuse(name + " takes no value");
        } else {
            if (!value && at == given.size()) refuse(name + " needs a value: " + name + " " + std::string(which.value));
            if (!value) value = given[at++];
            if (result.has(name)) refuse(name + " is given twice");
        }
        result.values_[name] = value.value_or("");
    };

    while (at < given.size() && !result.has("--help")) {
        const std::string& word = given[at];
        if (word == "--") {
            ++at;
            break;
        }
        if (word.starts_with("--")) {
            ++at;
            const std::size_t equals = std::min(word.find('='), word.size());
            const option& which = named(known, std::string_view(word).substr(2, equals - 2));
            take(which, equals == word.size() ? std::nullopt : std::optional(word.substr(equals + 1)));
        } else if (word.size() > 1 && word.front() == '-') {
            ++at;
            for (std::size_t i = 1; i < word.size(); ++i) {
                const option& which = lettered(known, word[i]);
                const bool rest = !which.value.empty() && i + 1 < word.size();
                take(which, rest ? std::optional(word.substr(i + 1)) : std::nullopt);
                if (!which.value.empty()) break;
            }
        } else if (result.words.size() == expected.most && expected.then_command) {
            break;
        } else {
            result.words.push_back(word);
            ++at;
        }
    }
    if (result.has("--help")) return result;

    for (; at < given.size(); ++at) {
        const bool word = !expected.then_command || result.words.size() < expected.most;
        (word ? result.words : result.command).push_back(given[at]);
    }
    if (result.words.size() < expected.least || (expected.then_command && result.command.empty()))
        refuse("missing argument; expected " + std::string(expected.usage));
    if (result.words.size() > expected.most)
        refuse(in_quotes(result.words[expected.most]) + " is one argument too many" +
               (expected.usage.empty() ? std::string{} : "; expected " + std::string(expected.usage)));
    return result;
}

}  // namespace command
