#include "json.hpp"

#include "text.hpp"

#include <charconv>
#include <cmath>

namespace command {
namespace {

std::string string_of(std::string_view text) {
    std::string shown = "\"";
    for (const char c : plain(text)) {
        if (c == '"' || c == '\\') shown += '\\';
        shown += c;
    }
    return shown + "\"";
}

}  // namespace

json& json::raw(std::string_view key, const std::string& value) {
    if (!inside_.empty()) inside_ += ",";
    inside_ += string_of(key) + ":" + value;
    return *this;
}

json& json::add(std::string_view key, std::string_view value) {
    return raw(key, string_of(value));
}

json& json::add(std::string_view key, double value) {
    if (!std::isfinite(value)) return raw(key, "null");
    char digits[64];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value);
    return raw(key, std::string(digits, end.ptr));
}

}  // namespace command
