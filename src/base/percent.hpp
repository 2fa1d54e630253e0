// Percent-encoding: a byte as %XX, in store addresses, in keys and in gRPC's messages.
#pragma once

#include <mortise/config.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mortise::inline v0::base {

// Appends the byte as a percent sign and two upper-case hex digits.
void append_percent_encoded(std::string& to, char byte);

// Appends the text, with those of its bytes encoded for which `encoded(byte)` is true. To be decoded it must be true of '%'.
template <class Which>
void append_percent_encoded(std::string& to, std::string_view text, const Which& encoded) {
    while (!text.empty()) {
        const auto stop = std::ranges::find_if(text, encoded);
        to.append(text.begin(), stop);
        if (stop == text.end()) return;
        append_percent_encoded(to, *stop);
        text = {stop + 1, text.end()};
    }
}

// Which digits are accepted. A key of ours has upper-case digits only: with others it is somebody else's, and two keys never
// decode to one name.
enum class hex_digits : bool { upper_case, any_case };

// None: a percent sign is not followed by two such digits.
std::optional<std::string> percent_decoded(std::string_view text, hex_digits accepted);

// As append_percent_encoded would have it, with these bytes encoded and no others. None: it was encoded by somebody else.
template <class Which>
std::optional<std::string> percent_decoded_exactly(std::string_view text, const Which& encoded) {
    if (std::ranges::none_of(text, encoded)) return std::string(text);
    auto decoded = percent_decoded(text, hex_digits::upper_case);
    if (!decoded) return std::nullopt;
    std::string again;
    append_percent_encoded(again, *decoded, encoded);
    return again == text ? std::move(decoded) : std::nullopt;
}

// For text from elsewhere that is only shown: a percent sign that begins no escape stands for itself.
std::string percent_decoded_leniently(std::string_view text);

}  // namespace mortise::inline v0::base
