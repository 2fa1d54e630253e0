#include "text.hpp"

#include "failure.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

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
    return text.size() <= most ? "'" + plain(text) + "'" : "'" + plain(text.substr(0, most)) + "...'";
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
    std::string_view digits = text;
    double unit = 1e9;
    if (digits.ends_with("ms")) {
        digits.remove_suffix(2);
        unit = 1e6;
    } else if (digits.ends_with("s") || digits.ends_with("m") || digits.ends_with("h")) {
        unit *= digits.back() == 'h' ? 3600 : digits.back() == 'm' ? 60 : 1;
        digits.remove_suffix(1);
    }
    double value = 0;
    const char* end = digits.data() + digits.size();
    const bool only_digits = !digits.empty() && digits.find_first_not_of("0123456789.") == digits.npos;
    const auto read = std::from_chars(digits.data(), end, value, std::chars_format::fixed);
    if (!only_digits || read.ec != std::errc{} || read.ptr != end)
        refuse(std::string(option) + " " + in_quotes(text) + " is no time; write 2, 0.5s, 200ms, 5m or 1h");
    constexpr double longest = 1e9 * 3600 * 24 * 365;
    if (value * unit > longest) refuse(std::string(option) + " " + in_quotes(text) + " is more than a year");
    return std::chrono::nanoseconds{static_cast<long long>(std::ceil(value * unit))};
}

long long read_number(std::string_view option, std::string_view text, long long least, long long most) {
    long long value = 0;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc{} || read.ptr != end || value < least || value > most)
        refuse(std::string(option) + " " + in_quotes(text) + " is no number from " + std::to_string(least) + " to " +
               std::to_string(most));
    return value;
}

}  // namespace command
