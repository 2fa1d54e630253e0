#include "base/percent.hpp"

namespace mortise::inline v0::base {
namespace {

int value_of(char digit, hex_digits accepted) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    if (digit >= 'a' && digit <= 'f' && accepted == hex_digits::any_case) return digit - 'a' + 10;
    return -1;
}

// The byte whose escape stands here.
std::optional<char> escape_at(std::string_view text, std::size_t at, hex_digits accepted) {
    if (text[at] != '%' || text.size() - at < 3) return std::nullopt;
    const int high = value_of(text[at + 1], accepted);
    const int low = value_of(text[at + 2], accepted);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<char>(high * 16 + low);
}

}  // namespace

void append_percent_encoded(std::string& to, char byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto bits = static_cast<unsigned char>(byte);
    to += {'%', digits[bits >> 4], digits[bits & 15]};
}

std::optional<std::string> percent_decoded(std::string_view text, hex_digits accepted) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = escape_at(text, i, accepted);
        if (!byte && text[i] == '%') return std::nullopt;
        plain += byte.value_or(text[i]);
        if (byte) i += 2;
    }
    return plain;
}

std::string percent_decoded_leniently(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = escape_at(text, i, hex_digits::any_case);
        plain += byte.value_or(text[i]);
        if (byte) i += 2;
    }
    return plain;
}

}  // namespace mortise::inline v0::base
