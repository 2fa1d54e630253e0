// Text that has to fit: in a lane of a picture, or in a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lab {

// Valid UTF-8 without anything that a terminal or a browser would obey, or that XML cannot hold: control characters and wrong
// bytes as \xNN, what changes the direction or has no width as U+FFFD.
std::string harmless(std::string_view anything);

// Columns: Chinese characters take two. All of these expect harmless text.
std::size_t columns_of(std::string_view text);

// At most so many columns; "…" at the end says that something is missing.
std::string shortened(std::string_view text, std::size_t columns);

// The same, with "…" at the front: names differ at their end.
std::string shortened_front(std::string_view text, std::size_t columns);

// Lines of at most so many columns, broken between words where there are any; the last of `most` lines is shortened.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::size_t most = 1000);

std::string padded_to(std::string text, std::size_t columns);

}  // namespace lab
