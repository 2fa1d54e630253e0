#include "lab/draw/tokens.hpp"

#include <mortise/token.hpp>

#include <algorithm>
#include <charconv>

namespace lab {
namespace {

constexpr std::string_view decimal = "0123456789";

// Shorter ones might as well be anything else, unless they are called tokens.
constexpr std::size_t digits_of_a_large_number = 12;

}  // namespace

token_ranks::token_ranks(const trace& all) {
    for (const event& each : all)
        if ((each.kind == kind::holds || each.kind == kind::granted) && each.number != 0)
            sorted_.push_back(each.number);
    std::sort(sorted_.begin(), sorted_.end());
    sorted_.erase(std::unique(sorted_.begin(), sorted_.end()), sorted_.end());
}

std::size_t token_ranks::rank(std::int64_t token) const {
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), token);
    return found == sorted_.end() || *found != token ? 0 : static_cast<std::size_t>(found - sorted_.begin()) + 1;
}

std::string token_ranks::replaced(const std::string& digits, bool is_token) const {
    std::uint64_t value = 0;
    if (!is_token && digits.size() < digits_of_a_large_number) return digits;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc{}) return digits;
    if (const std::size_t plain = rank(static_cast<std::int64_t>(value))) return std::to_string(plain);
    const std::size_t fence = rank(static_cast<std::int64_t>(mortise::token{value}.counter()));
    return fence ? "#" + std::to_string(fence) : digits;
}

std::string token_ranks::ranked(const std::string& words) const {
    std::string made;
    for (std::size_t at = 0; at < words.size();) {
        const std::size_t begins = std::min(words.find_first_of(decimal, at), words.size());
        const std::size_t ends = std::min(words.find_first_not_of(decimal, begins), words.size());
        made += words.substr(at, begins - at);
        made += replaced(words.substr(begins, ends - begins), made.ends_with("token ") || made.ends_with("令牌 "));
        at = ends;
    }
    return made;
}

}  // namespace lab
