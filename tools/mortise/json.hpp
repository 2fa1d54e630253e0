// One JSON object on one line, which is what --json prints. Tokens go in as strings: a double cannot carry them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace command {

class json {
public:
    json& add(std::string_view key, std::string_view value);
    json& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
    json& add(std::string_view key, std::int64_t value) { return raw(key, std::to_string(value)); }
    json& add(std::string_view key, double value);
    json& add(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
    json& add(std::string_view key, std::nullptr_t) { return raw(key, "null"); }
    json& add(std::string_view key, const json& value) { return raw(key, value.text()); }

    std::string text() const { return "{" + inside_ + "}"; }

private:
    json& raw(std::string_view key, const std::string& value);

    std::string inside_;
};

}  // namespace command
