// Reads space-separated words one by one. A missing word or an invalid number makes the text bad.
#pragma once

#include <mortise/config.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace mortise::inline v0::base {

class words {
public:
    explicit words(std::string_view text) : left_(text) {}

    std::string_view next() {
        const std::size_t end = std::min(left_.find(' '), left_.size());
        const std::string_view word = left_.substr(0, end);
        left_.remove_prefix(std::min(end + 1, left_.size()));
        if (word.empty()) bad_ = true;
        return word;
    }
    template <class Number = std::int64_t>
    Number number(int base = 10) {
        const std::string_view word = next();
        Number n{};
        const auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), n, base);
        if (failed != std::errc{} || stop != word.data() + word.size()) bad_ = true;
        return n;
    }
    std::string_view rest() const noexcept { return left_; }
    bool bad() const noexcept { return bad_; }

private:
    std::string_view left_;
    bool bad_ = false;
};

}  // namespace mortise::inline v0::base
