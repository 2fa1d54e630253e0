// What the lab says to people, in English and in Chinese.
#pragma once

#include <string>
#include <utility>

namespace lab {

enum class language { english, chinese };

struct text {
    std::string en{};
    std::string zh{};

    text() = default;
    text(std::string english, std::string chinese) : en(std::move(english)), zh(std::move(chinese)) {}
    text(std::string both) : en(both), zh(std::move(both)) {}  // commands and names, which are the same in both
    text(const char* both) : text(std::string(both)) {}

    const std::string& in(language which) const { return which == language::chinese ? zh : en; }
    bool empty() const { return en.empty(); }
};

}  // namespace lab
