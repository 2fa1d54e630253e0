#include "text.hpp"

#include "failure.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

namespace command {
namespace {

// How many bytes the character at the front takes; 0: it is none, or one that a terminal would obey.
std::size_t harmless(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
    const std::size_t size = first >= 0xf5 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
    if (size == 0 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool beyond = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
    const bool control = first == 0xc2 && byte(1) < 0xa0;
    return overlong || beyond || control ? 0 : size;
}

constexpr std::string_view hex = "0123456789abcdef";

struct range {
    char32_t first, last;
};

bool inside(std::span<const range> all, char32_t c) {
    return std::any_of(all.begin(), all.end(), [c](range each) { return c >= each.first && c <= each.last; });
}

// After Unicode's East_Asian_Width, without its smallest blocks. The C library would have to be asked in the user's locale.
std::size_t width_of(char32_t c) {
    static constexpr range none[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                     {0x64b, 0x65f},   {0x93c, 0x93c},   {0x941, 0x948},   {0xe31, 0xe31},
                                     {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
                                     {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064}, {0x20d0, 0x20ff},
                                     {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};
    static constexpr range two[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
                                    {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},
                                    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
                                    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
    return inside(none, c) ? 0 : inside(two, c) ? 2 : 1;
}

// The character at the front and how many bytes it takes; what is none takes one, and is shown as one.
std::pair<char32_t, std::size_t> first_of(std::string_view text) {
    const std::size_t size = harmless(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (size < 2) return {first, 1};
    char32_t c = first & (0xffU >> (size + 1));
    for (std::size_t i = 1; i < size; ++i) c = c << 6U | (static_cast<unsigned char>(text[i]) & 0x3fU);
    return {c, size};
}

}  // namespace

std::string plain(std::string_view text) {
    std::string shown;
    while (!text.empty()) {
        const std::size_t size = harmless(text);
        if (size > 0) {
            shown += text.substr(0, size);
        } else {
            const auto byte = static_cast<unsigned char>(text.front());
            shown += {'\\', 'x', hex[byte >> 4], hex[byte & 15]};
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return shown;
}

std::string in_quotes(std::string_view text) {
    constexpr std::size_t most = 80;
    const std::string shown = plain(text);
    return "'" + (columns_in(shown) <= most ? shown : fitted(shown, most + 3)) + "'";
}

std::size_t columns_in(std::string_view text) {
    std::size_t sum = 0;
    while (!text.empty()) {
        const auto [c, size] = first_of(text);
        sum += width_of(c);
        text.remove_prefix(size);
    }
    return sum;
}

std::string fitted(std::string_view text, std::size_t most) {
    constexpr std::string_view dots = "...";
    if (columns_in(text) <= most) return std::string(text);
    const std::size_t room = most - std::min(most, dots.size());
    std::size_t at = 0;
    for (std::size_t taken = 0; at < text.size();) {
        const auto [c, size] = first_of(text.substr(at));
        taken += width_of(c);
        if (taken > room) break;
        at += size;
    }
    return std::string(text.substr(0, at)) + std::string(dots.substr(0, most - room));
}

std::string_view first_bytes(std::string_view text, std::size_t most) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t size = first_of(text.substr(at)).second;
        if (at + size > most) break;
        at += size;
    }
    return text.substr(0, at);
}

std::string readable(std::chrono::nanoseconds span) {
    const double seconds = std::chrono::duration<double>(span).count();
    const auto with = [](double value, const char* unit) {
        return std::to_string(static_cast<long long>(std::floor(value))) + unit;
    };
    if (seconds < 1) return with(seconds * 1000, " ms");
    if (seconds < 120) return with(seconds, " s");
    if (seconds < 7200) return with(seconds / 60, " min");
    if (seconds < 172800) return with(seconds / 3600, " h");
    return with(seconds / 86400, " d");
}

std::chrono::nanoseconds read_duration(std::string_view option, std::string_view text) {
    struct unit {
        std::string_view name;
        double nanoseconds;
    };
    static constexpr std::array<unit, 5> units{{{"d", 86400e9}, {"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}}};
    constexpr std::string_view digits = "0123456789.";
    double sum = 0;
    bool good = !text.empty();
    auto next = units.begin();  // large ones come first, each once
    for (std::string_view rest = text; good && !rest.empty();) {
        const std::size_t size = std::min(rest.find_first_not_of(digits), rest.size());
        const std::size_t end = std::min(rest.find_first_of(digits, size), rest.size());
        const std::string_view name = size == text.size() ? "s" : rest.substr(size, end - size);
        double value = 0;
        const auto read = std::from_chars(rest.data(), rest.data() + size, value, std::chars_format::fixed);
        next = std::find_if(next, units.end(), [&](const unit& one) { return one.name == name; });
        good = read.ec == std::errc{} && read.ptr == rest.data() + size && next != units.end();
        if (good) sum += value * (next++)->nanoseconds;
        rest.remove_prefix(end);
    }
    if (!good)
        refuse(std::string(option) + " " + in_quotes(text) + " is no time; write 2, 0.5s, 200ms, 1m30s, 1h or 1d");
    constexpr double longest = 86400e9 * 365;
    if (sum > longest) refuse(std::string(option) + " " + in_quotes(text) + " is more than a year");
    return std::chrono::nanoseconds{static_cast<long long>(std::ceil(sum))};
}

long long read_number(std::string_view option, std::string_view text, long long least, long long most) {
    long long value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end || value < least || value > most)
        refuse(std::string(option) + " " + in_quotes(text) + " is not a number from " + std::to_string(least) + " to " +
               std::to_string(most));
    return value;
}

}  // namespace command
