#include "compare/page.hpp"

#include <algorithm>
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

std::string chart_of(const std::string& title, const std::vector<titled>& rows, const figures& all) {
    constexpr int left = 180;    // of the bars
    constexpr int widest = 420;  // of them
    constexpr int per_row = 46;
    constexpr std::array<std::array<std::string_view, 3>, 2> bars{
        {{"pair", "#4878a8", "lock and unlock"}, {"hand-off", "#6aa84f", "hand-off to another process"}}};
    double most = 1;
    for (const auto& [key, one] : all)
        for (const auto& bar : bars)
            if (key.second == bar[0]) most = std::max(most, one.nanoseconds);
    const int height = 70 + per_row * static_cast<int>(rows.size());
    std::string svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"" + std::to_string(height) +
        "\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    const auto write = [&](int x, int y, const std::string& text, const char* more = "") {
        svg +=
            "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"" + more + ">" + text + "</text>\n";
    };
    const auto fill = [&](int x, int y, int width, std::string_view colour) {
        svg += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
               std::to_string(width) + "\" height=\"14\" fill=\"" + std::string(colour) + "\"/>\n";
    };
    write(12, 24, title, " font-weight=\"bold\"");
    int at = left;
    for (const auto& bar : bars) {
        fill(at, 36, 14, bar[1]);
        write(at + 20, 48, std::string(bar[2]));
        at += 150;
    }
    int y = 66;
    for (const titled& each : rows) {
        std::string plain = each.title;
        std::erase(plain, '`');
        write(left - 10, y + 20, plain, " text-anchor=\"end\"");
        int line = y;
        for (const auto& bar : bars) {
            if (const auto found = all.find({each.store, std::string(bar[0])}); found != all.end()) {
                const int width = 1 + static_cast<int>(found->second.nanoseconds / most * widest);
                fill(left, line, width, bar[1]);
                write(left + width + 6, line + 12, readable(found->second.nanoseconds));
            }
            line += 16;
        }
        y += per_row;
    }
    return svg + "</svg>\n";
}

std::string with_results(const std::string& page, const std::string& results) {
    const std::size_t from = page.find(begins);
    const std::size_t to = page.find(ends);
    if (from == std::string::npos || to == std::string::npos || to < from)
        throw std::runtime_error("the page has no marks between which the results belong");
    return page.substr(0, from + begins.size()) + results + page.substr(to);
}

}  // namespace mortise::compare
