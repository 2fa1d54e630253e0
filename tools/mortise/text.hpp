// Text for terminals: everything from outside is escaped.
#pragma once

#include <mortise/spelling.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace command {

// Control characters, C1 included, and bytes that are no UTF-8 as \xNN; everything else as it is.
std::string plain(std::string_view text);

// The same in single quotes, cut after 80 columns.
std::string in_quotes(std::string_view text);

// How many columns of a terminal UTF-8 takes that plain() has passed: none for a combining mark, two for most of East Asia.
std::size_t columns_in(std::string_view text);

// As much of it as fits `most` columns, with "..." for what is left out.
std::string fitted(std::string_view text, std::size_t most);

// The longest part from the front that has `most` bytes at most and ends with a whole character.
std::string_view first_bytes(std::string_view text, std::size_t most);

// "250 ms", "12 s", "3 min", "2 h", "5 d".
std::string readable(std::chrono::nanoseconds span);

// "2", "0.5s", "200ms", "5m", "1h". Throws failure(usage), naming the option.
std::chrono::nanoseconds read_duration(std::string_view option, std::string_view text);

// A whole number from `least` to `most`. Throws likewise.
long long read_number(std::string_view option, std::string_view text, long long least, long long most);

// The one of `known` that `given` was probably meant to be; empty if none is near.
template <class Range>
std::string_view nearest(std::string_view given, const Range& known) {
    std::string_view best;
    std::size_t least = given.size() < 4 ? 2 : 3;
    for (std::string_view each : known) {
        if (const std::size_t far = mortise::detail::edits_between(given, each); far < least) {
            least = far;
            best = each;
        }
    }
    return best;
}

}  // namespace command
