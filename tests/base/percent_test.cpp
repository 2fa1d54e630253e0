// Percent-encoding: every byte there and back, and what is refused.
#include "base/percent.hpp"

#include <string>

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

std::string encoded(std::string_view text, std::string_view reserved) {
    std::string out;
    append_percent_encoded(out, text, [&](char c) { return reserved.find(c) != std::string_view::npos; });
    return out;
}

TEST(percent, every_byte_comes_back) {
    for (int byte = 0; byte < 256; ++byte) {
        std::string escape;
        append_percent_encoded(escape, static_cast<char>(byte));
        ASSERT_EQ(escape.size(), 3u);
        EXPECT_EQ(percent_decoded(escape, hex_digits::upper_case), std::string(1, static_cast<char>(byte)));
        EXPECT_EQ(percent_decoded(escape, hex_digits::any_case), std::string(1, static_cast<char>(byte)));
        EXPECT_EQ(percent_decoded_leniently(escape), std::string(1, static_cast<char>(byte)));
    }
}

TEST(percent, encodes_only_what_it_is_told_to) {
    EXPECT_EQ(encoded("a/b%c", "/%"), "a%2Fb%25c");
    EXPECT_EQ(encoded("a/b", "%"), "a/b");
    EXPECT_EQ(encoded("\xc3\xbf", "\xbf"), "\xc3%BF");
    EXPECT_EQ(encoded("", "%"), "");
}

TEST(percent, decodes_escapes_and_leaves_the_rest) {
    EXPECT_EQ(percent_decoded("a%2Fb%25c", hex_digits::upper_case), "a/b%c");
    EXPECT_EQ(percent_decoded("%252F", hex_digits::upper_case), "%2F");
    EXPECT_EQ(percent_decoded("", hex_digits::upper_case), "");
    EXPECT_EQ(percent_decoded("+ ?", hex_digits::any_case), "+ ?");
}

TEST(percent, lower_case_digits_are_another_writer_s) {
    EXPECT_EQ(percent_decoded("%2f", hex_digits::any_case), "/");
    EXPECT_EQ(percent_decoded("%2f", hex_digits::upper_case), std::nullopt);
    EXPECT_EQ(percent_decoded_leniently("%2f"), "/");
}

TEST(percent, refuses_a_sign_that_begins_no_escape) {
    for (const char* text : {"%", "%4", "a%", "a%4", "%%41", "%4G", "%G4", "% 1", "%-1", "%4%41"}) {
        EXPECT_EQ(percent_decoded(text, hex_digits::any_case), std::nullopt) << text;
        EXPECT_EQ(percent_decoded(text, hex_digits::upper_case), std::nullopt) << text;
    }
    EXPECT_EQ(percent_decoded_leniently("100% of %%41%4"), "100% of %A%4");
}

}  // namespace
}  // namespace mortise::base
