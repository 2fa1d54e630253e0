#include "lab/draw/columns.hpp"

#include "tools/mortise/text.hpp"

#include <algorithm>

namespace lab {
namespace {

constexpr std::string_view dots = "…";

// Of text that plain() has passed.
std::string_view first_character(std::string_view text) {
    const auto first = static_cast<unsigned char>(text.front());
    return text.substr(0, first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1);
}

// U+200B–200F, U+2028–202E, U+2060–206F, U+FEFF, U+FFFE and U+FFFF.
bool invisible(std::string_view character) {
    const auto within = [&](std::string_view first, std::string_view last) {
        return character.size() == first.size() && character >= first && character <= last;
    };
    return within("\u200b", "\u200f") || within("\u2028", "\u202e") || within("\u2060", "\u206f") ||
           within("\ufeff", "\ufeff") || within("\xef\xbf\xbe", "\xef\xbf\xbf");
}

// The longest part from the front that fits.
std::string_view fitting(std::string_view text, std::size_t columns) {
    std::size_t at = 0;
    for (std::size_t taken = 0; at < text.size();) {
        const std::string_view next = first_character(text.substr(at));
        taken += columns_of(next);
        if (taken > columns) break;
        at += next.size();
    }
    return text.substr(0, at);
}

// Where a line of at most so many columns could end: at a space if that leaves half of it, else anywhere.
std::size_t last_break(std::string_view text, std::size_t columns) {
    const std::string_view most = fitting(text, columns);
    if (most.size() == text.size() || text[most.size()] == ' ') return most.size();
    const std::size_t space = most.rfind(' ');
    const bool useful = space != most.npos && columns_of(most.substr(0, space)) * 2 >= columns;
    return useful ? space : std::max(most.size(), first_character(text).size());
}

// An arrow stays with what it points to.
std::size_t line_end(std::string_view text, std::size_t columns) {
    constexpr std::string_view arrow = " →";
    const std::size_t end = last_break(text, columns);
    const bool points_on = end < text.size() && end > arrow.size() && text.substr(0, end).ends_with(arrow);
    return points_on ? end - arrow.size() : end;
}

}  // namespace

std::string harmless(std::string_view anything) {
    const std::string plain = command::plain(anything);
    std::string made;
    for (std::string_view rest = plain; !rest.empty();) {
        const std::string_view next = first_character(rest);
        made += invisible(next) ? "\ufffd" : next;
        rest.remove_prefix(next.size());
    }
    return made;
}

std::size_t columns_of(std::string_view text) {
    return command::columns_in(text);
}

std::string shortened(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) return std::string(text);
    if (columns == 0) return {};
    return std::string(fitting(text, columns - 1)).append(dots);
}

std::string shortened_front(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) return std::string(text);
    if (columns == 0) return {};
    while (columns_of(text) > columns - 1) text.remove_prefix(first_character(text).size());
    return std::string(dots).append(text);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::size_t most) {
    std::vector<std::string> lines;
    while (!text.empty() && lines.size() + 1 < most) {
        const std::size_t end = line_end(text, columns);
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    }
    if (!text.empty()) lines.push_back(shortened(text, columns));
    return lines;
}

std::string padded_to(std::string text, std::size_t columns) {
    const std::size_t has = columns_of(text);
    return has < columns ? text.append(columns - has, ' ') : text;
}

}  // namespace lab
