// Text for people and for programs: what came from outside never reaches a terminal raw.
#pragma once

#include <mortise/spelling.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace command {

// Control characters, C1 included, and bytes that are no UTF-8 as \xNN; everything else as it is.
std::string plain(std::string_view text);

// The same in single quotes, cut after 80 bytes.
std::string in_quotes(std::string_view text);

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
