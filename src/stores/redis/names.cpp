#include "stores/redis/names.hpp"

#include "base/percent.hpp"

#include <array>

namespace mortise::inline v0::stores::redis {
namespace {

constexpr auto escaped = [](char c) { return c == '{' || c == '}' || c == '%'; };

constexpr auto crc_table = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        unsigned crc = byte << 8;
        for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000u) != 0 ? (crc << 1) ^ 0x1021u : crc << 1;
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

// A glob that matches this text.
std::string glob_of(std::string_view text) {
    std::string glob;
    for (const char c : text) {
        if (std::string_view{"*?[]^\\-"}.find(c) != std::string_view::npos) glob += '\\';
        glob += c;
    }
    return glob;
}

}  // namespace

std::string key_of(std::string_view prefix, std::string_view name) {
    std::string key{prefix};
    key += ":{";
    base::append_percent_encoded(key, name, escaped);
    return key += '}';
}

std::optional<std::string> name_of(std::string_view prefix, std::string_view key) {
    if (key.size() < prefix.size() + 3 || !key.starts_with(prefix) || !key.ends_with('}')) return std::nullopt;
    key.remove_prefix(prefix.size());
    if (!key.starts_with(":{")) return std::nullopt;
    return base::percent_decoded_exactly(key.substr(2, key.size() - 3), escaped);
}

std::string memory_key_of(std::string_view prefix) {
    return std::string(prefix) + ":tokens";
}

std::string pattern_of(std::string_view prefix) {
    return glob_of(prefix) + ":{*}";
}

std::string pattern_below(std::string_view begin) {
    return glob_of(begin) + "*";
}

std::uint16_t slot_of(std::string_view key) {
    if (const std::size_t open = key.find('{'); open != std::string_view::npos) {
        const std::size_t close = key.find('}', open + 1);
        if (close != std::string_view::npos && close != open + 1) key = key.substr(open + 1, close - open - 1);
    }
    unsigned crc = 0;
    for (const char c : key)
        crc = ((crc << 8) & 0xffffu) ^ crc_table[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xffu];
    return static_cast<std::uint16_t>(crc % 16384);
}

}  // namespace mortise::inline v0::stores::redis
