// Text for people: safe in a log line, whatever came from outside.
#include "base/text.hpp"

#include "base/words.hpp"

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;

// std::quoted would be found first for a std::string.
std::string shown(std::string_view text) {
    return base::quoted(text);
}

TEST(quoted, leaves_plain_text_alone) {
    EXPECT_EQ(shown("ticket"), "'ticket'");
    EXPECT_EQ(shown(""), "''");
    EXPECT_EQ(shown("\u00e4\u4e00"), "'\u00e4\u4e00'");
}

TEST(quoted, spells_out_what_could_harm_a_terminal) {
    EXPECT_EQ(shown("a\nb"), "'a\\x0ab'");
    EXPECT_EQ(shown(std::string("\0\x1b\x7f", 3)), "'\\x00\\x1b\\x7f'");
    EXPECT_EQ(shown("\xff\xfe"), "'\\xff\\xfe'");
    EXPECT_EQ(shown("\xc2\x9b"), "'\\xc2\\x9b'") << "a control character of C1";
}

TEST(quoted, cuts_after_80_bytes_and_never_through_a_character) {
    EXPECT_EQ(shown(std::string(80, 'x')), "'" + std::string(80, 'x') + "'");
    EXPECT_EQ(shown(std::string(81, 'x')), "'" + std::string(80, 'x') + "...'");
    std::string wide(79, 'x');
    wide += "\u4e00\u4e00";
    EXPECT_EQ(shown(wide), "'" + std::string(79, 'x') + "...'");
    EXPECT_TRUE(valid_utf8(shown(wide)));
    EXPECT_LT(shown(std::string(1u << 20, '\n')).size(), 400u);
}

TEST(readable, picks_the_unit) {
    EXPECT_EQ(readable(0ns), "0 ns");
    EXPECT_EQ(readable(9999ns), "9999 ns");
    EXPECT_EQ(readable(10us), "10 us");
    EXPECT_EQ(readable(250ms), "250 ms");
    EXPECT_EQ(readable(30s), "30 s");
    EXPECT_EQ(readable(15min), "15 min");
    EXPECT_EQ(readable(24h), "24 h");
    EXPECT_EQ(readable(2s), "2 s");
    EXPECT_EQ(readable(1500ms), "1500 ms");
    EXPECT_EQ(readable(90s), "90 s");
    EXPECT_EQ(readable(-5s), "-5 s");
    EXPECT_FALSE(readable(std::chrono::nanoseconds::max()).empty());
    EXPECT_EQ(readable(std::chrono::nanoseconds::min()), "-" + readable(std::chrono::nanoseconds::max()));
}

TEST(utf8, knows_the_edges_of_every_length) {
    for (const char* good : {"", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                             "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(valid_utf8(good)) << shown(good);
    for (const char* bad : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe0\xa0",
                            "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80",
                            "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"})
        EXPECT_FALSE(valid_utf8(bad)) << shown(bad);
    EXPECT_TRUE(valid_utf8(std::string(1, '\0')));
}

TEST(utf8, knows_control_characters) {
    for (const char* with : {"\n", "a\tb", "\x1b", "\x7f", "\xc2\x80", "x\xc2\x9f"}) EXPECT_TRUE(has_control(with));
    for (const char* without : {"", " ", "~", "\xc2\xa0", "\u00e4", "\u4e00"}) EXPECT_FALSE(has_control(without));
    EXPECT_TRUE(has_control(std::string(1, '\0')));
}

TEST(printable_ascii, is_told_from_everything_else_at_every_place) {
    for (std::size_t size = 0; size <= 17; ++size) {
        std::string text(size, 'x');
        EXPECT_TRUE(printable_ascii(text));
        for (std::size_t at = 0; at < size; ++at)
            for (int byte = 0; byte < 256; ++byte)
                for (const char beside : {' ', '~'}) {
                    text.assign(size, beside);
                    text[at] = static_cast<char>(byte);
                    EXPECT_EQ(printable_ascii(text), byte >= 0x20 && byte < 0x7f) << size << ' ' << at << ' ' << byte;
                }
    }
}

TEST(words, are_read_one_after_the_other) {
    base::words in{"claim ff -7 and the rest"};
    EXPECT_EQ(in.next(), "claim");
    EXPECT_EQ(in.number<unsigned>(16), 255u);
    EXPECT_EQ(in.number(), -7);
    EXPECT_EQ(in.rest(), "and the rest");
    EXPECT_FALSE(in.bad());
}

TEST(words, what_is_missing_or_no_number_is_bad) {
    for (const char* text : {"", " 1", "x", "1x", "-1", "4294967296", "0x1"}) {
        base::words in{text};
        in.number<std::uint32_t>();
        EXPECT_TRUE(in.bad()) << text;
    }
    base::words over{"1"};
    over.next();
    EXPECT_FALSE(over.bad());
    EXPECT_EQ(over.next(), "");
    EXPECT_TRUE(over.bad());
}

}  // namespace
}  // namespace mortise::base
