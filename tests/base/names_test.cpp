// What a caller may ask for: the limits of names, and that each refusal says what is allowed.
#include "base/limits.hpp"

#include <mortise/error.hpp>

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;

std::error_code refusal_of(const std::function<void()>& check, std::string* said = nullptr) {
    try {
        check();
    } catch (const error& e) {
        if (said != nullptr) *said = e.what();
        return e.code();
    }
    return {};
}

TEST(names, up_to_200_bytes_of_anything_printable_are_legal) {
    for (const std::string& name :
         {std::string("a"), std::string(200, 'n'), std::string("../.."), std::string("/"), std::string("{a}"),
          std::string(" "), std::string("a b\\c'd\"e"), std::string("\u00e4\u4e00\U0001f512"), std::string("\u00a0"),
          std::string("%00"), std::string("\xf4\x8f\xbf\xbf")})
        EXPECT_NO_THROW(check_name(name)) << name;
}

TEST(names, what_is_empty_long_binary_or_not_utf8_is_refused) {
    const std::vector<std::string> bad{"",
                                       std::string(201, 'n'),
                                       std::string(1u << 20, 'n'),
                                       std::string(1, '\0'),
                                       std::string("a\0b", 3),
                                       "tab\t",
                                       "line\n",
                                       "\x1b[0m",
                                       "\x7f",
                                       "\xc2\x80",          // C1
                                       "\xc2\x9f",          // C1
                                       "\xff",              // never in UTF-8
                                       "\xc0\xaf",          // overlong '/'
                                       "\xe0\x80\xaf",      // overlong '/'
                                       "\xed\xa0\x80",      // surrogate
                                       "\xf4\x90\x80\x80",  // above U+10FFFF
                                       "\xe4\xb8",          // cut short
                                       "\x80",              // continuation alone
                                       "a\xc3"};            // cut short at the end
    for (const std::string& name : bad) {
        std::string said;
        EXPECT_EQ(refusal_of([&] { check_name(name); }, &said), errc::invalid_name);
        EXPECT_NE(said.find("1 to 200 bytes of UTF-8"), std::string::npos) << said;
        EXPECT_LT(said.size(), 500u);
        for (const char c : said) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) << said;
    }
}

TEST(names, claims_are_checked_in_every_field) {
    const auto code = [](const claim& c) { return refusal_of([&] { check(c); }); };
    EXPECT_FALSE(code({.name = "n"}));
    EXPECT_FALSE(code({.name = "n", .capacity = most_capacity, .weight = most_capacity}));
    EXPECT_EQ(code({.name = ""}), errc::invalid_name);
    EXPECT_EQ(code({.name = "n", .capacity = 0}), errc::invalid_option);
    EXPECT_EQ(code({.name = "n", .capacity = most_capacity + 1}), errc::invalid_option);
    EXPECT_EQ(code({.name = "n", .weight = 0}), errc::invalid_option);
    EXPECT_EQ(code({.name = "n", .capacity = 2, .weight = 3}), errc::invalid_option);

    const auto with = [&](const claim_options& o) { return code({.name = "n", .options = o}); };
    EXPECT_FALSE(with({.wait = 0ns}));
    EXPECT_FALSE(with({.wait = std::chrono::nanoseconds::max()}));
    EXPECT_EQ(with({.wait = -1ns}), errc::invalid_option);
    EXPECT_FALSE(with({.lease = shortest_lease}));
    EXPECT_FALSE(with({.lease = longest_lease}));
    EXPECT_EQ(with({.lease = shortest_lease - 1ns}), errc::invalid_option);
    EXPECT_EQ(with({.lease = longest_lease + 1ns}), errc::invalid_option);
    EXPECT_EQ(with({.lease = std::chrono::nanoseconds::min()}), errc::invalid_option);
    EXPECT_EQ(with({.lease = std::chrono::nanoseconds::max()}), errc::invalid_option);
    EXPECT_FALSE(with({.label = std::string(200, 'l')}));
    EXPECT_EQ(with({.label = std::string(201, 'l')}), errc::invalid_option);
    EXPECT_EQ(with({.label = "two\nlines"}), errc::invalid_option);
    EXPECT_EQ(with({.label = "\xff"}), errc::invalid_option);
}

}  // namespace
}  // namespace mortise::base
