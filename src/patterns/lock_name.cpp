#include "patterns/lock_name.hpp"

#include "patterns/hash.hpp"
#include "patterns/limits.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace mortise::inline v0::patterns {
namespace {

constexpr std::size_t longest_key = 100;

bool readable(std::string_view key) {
    return !key.empty() && key.size() <= longest_key && key.front() != '#' &&
           std::ranges::all_of(key, [](char each) { return each > ' ' && each < 0x7f; });
}

}  // namespace

std::string lock_name(const std::string& pattern, std::string_view key) {
    if (readable(key) && pattern.size() + 1 + key.size() <= longest_name) return pattern + "/" + std::string(key);
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash_of(key), 16).ptr;
    return pattern + "/#" + std::string(digits.data(), end);
}

}  // namespace mortise::inline v0::patterns
