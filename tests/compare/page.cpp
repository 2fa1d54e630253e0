#include "compare/page.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace mortise::compare {
namespace {

constexpr std::string_view begins = "<!-- make compare writes from here -->\n";
constexpr std::string_view ends = "<!-- to here -->";

// The value of a key in an object on one line; a text comes without its quotes. Texts that matter here hold no escapes.
std::optional<std::string> value_of(const std::string& object, const std::string& key) {
    const std::string sign = "\"" + key + "\":";
    std::size_t at = object.find(sign);
    if (at == std::string::npos) return std::nullopt;
    at += sign.size();
    if (object[at] == '"') return object.substr(at + 1, object.find('"', at + 1) - at - 1);
    return object.substr(at, object.find_first_of(",}", at) - at);
}

std::string three_digits(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*f", value >= 99.5 ? 0 : value >= 9.95 ? 1 : 2, value);
    return text.data();
}

std::string readable(double nanoseconds) {
    if (nanoseconds < 999.5e3) return three_digits(nanoseconds / 1e3) + " µs";
    return three_digits(nanoseconds / 1e6) + " ms";
}

// "62 µs, 2.4"
std::string cell(const figures& all, const std::string& store, const std::string& subject) {
    const auto found = all.find({store, subject});
    if (found == all.end()) return "–";
    return readable(found->second.nanoseconds) +
           (found->second.ratio > 0 ? ", **" + three_digits(found->second.ratio) + "**" : "");
}

// How many reads are made for each that is made without a lock.
std::string share(const figures& all, const std::string& store, const std::string& subject) {
    const auto found = all.find({store, subject});
    return found == all.end() || found->second.ratio <= 0 ? "–" : three_digits(1 / found->second.ratio);
}

}  // namespace

figures figures_in(const std::string& lines) {
    figures all;
    std::istringstream in{lines};
    for (std::string line; std::getline(in, line);) {
        const auto subject = value_of(line, "subject");
        const auto store = value_of(line, "store");
        const auto value = value_of(line, "value");
        if (!subject || !store || !value) continue;
        measured one{.nanoseconds = std::strtod(value->c_str(), nullptr)};
        if (const auto ratio = value_of(line, "ratio")) one.ratio = std::strtod(ratio->c_str(), nullptr);
        all[{*store, *subject}] = one;
    }
    return all;
}

std::string table_of(const std::vector<titled>& rows, const figures& all) {
    std::string text =
        "| store | a trip | lock and unlock | hand-off | 16 threads, a grant | the same, no local hand-over | 16 "
        "readers, "
        "shared | one at a time |\n|---|---|---|---|---|---|---|---|\n";
    for (const titled& each : rows) {
        text += "| " + each.title;
        for (const char* subject : {"trip", "pair", "hand-off", "contended", "contended, no hand-over"})
            text += " | " + cell(all, each.store, subject);
        text += " | " + share(all, each.store, "reads, shared") + " | " + share(all, each.store, "reads, exclusive") +
                " |\n";
    }
    return text;
}

std::string with_results(const std::string& page, const std::string& results) {
    const std::size_t from = page.find(begins);
    const std::size_t to = page.find(ends);
    if (from == std::string::npos || to == std::string::npos || to < from)
        throw std::runtime_error("the page has no marks between which the results belong");
    return page.substr(0, from + begins.size()) + results + page.substr(to);
}

}  // namespace mortise::compare
