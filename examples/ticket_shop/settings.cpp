#include "settings.hpp"

#include "failure.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

count settings::number_from(const char* variable, count otherwise, count most) {
    const char* given = std::getenv(variable);
    if (given == nullptr) return otherwise;
    const std::string_view text{given};
    count number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc{} || end != text.data() + text.size() || number < 1 || number > most)
        throw failure{usage, std::string{variable} + " must be a whole number from 1 to " + std::to_string(most) +
                                 ", not \"" + one_line(text, 40) + "\""};
    return number;
}

std::string settings::text_from(const char* variable, const char* otherwise) {
    const char* given = std::getenv(variable);
    return given == nullptr ? otherwise : given;
}
