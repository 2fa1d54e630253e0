// Text for people: quoting what came from outside, durations, UTF-8.
#pragma once

#include <mortise/config.hpp>

#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::base {

// In single quotes, control and non-ASCII-printable bytes as \xNN, cut after 80 bytes: safe in a log line.
std::string quoted(std::string_view text);

// "250 ms", "12 s", "3 min": two significant units are never needed.
std::string readable(std::chrono::nanoseconds span);

// Nothing but ASCII from space to tilde, as most names are: valid UTF-8 without control characters, and quickly known.
bool printable_ascii(std::string_view text) noexcept;
bool valid_utf8(std::string_view text) noexcept;
bool has_control(std::string_view text) noexcept;  // C0, DEL and C1 (as UTF-8)

// The number, if the whole text is one and it is within these bounds.
template <class Number>
std::optional<Number> number_in(std::string_view text, Number least, Number most) {
    Number n{};
    const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (failed != std::errc{} || stop != text.data() + text.size() || n < least || n > most) return std::nullopt;
    return n;
}

}  // namespace mortise::inline v0::base
