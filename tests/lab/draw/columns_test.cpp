#include "lab/draw/columns.hpp"

#include "lab/draw/markup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lab {
namespace {

using ::testing::ElementsAre;

TEST(columns, chinese_characters_have_two) {
    EXPECT_EQ(columns_of("锁 A → OK"), 9u);
    EXPECT_EQ(columns_of("，令牌"), 6u);
    EXPECT_EQ(padded_to("令牌", 6), "令牌  ");
}

TEST(columns, what_does_not_fit_is_shortened_at_whole_characters) {
    EXPECT_EQ(shortened("lock:ticket", 11), "lock:ticket");
    EXPECT_EQ(shortened("lock:ticket", 6), "lock:…");
    EXPECT_EQ(shortened("令牌令牌", 6), "令牌…");
    EXPECT_EQ(shortened_front("thread 12", 4), "… 12");
    EXPECT_EQ(shortened("anything", 0), "");
}

TEST(columns, lines_break_between_words_or_anywhere) {
    EXPECT_THAT(wrapped("SET lock:ticket 1 EX 10 NX", 17), ElementsAre("SET lock:ticket 1", "EX 10 NX"));
    EXPECT_THAT(wrapped("a-word-without-spaces", 8), ElementsAre("a-word-w", "ithout-s", "paces"));
    EXPECT_THAT(wrapped("加锁和设置过期时间", 8), ElementsAre("加锁和设", "置过期时", "间"));
    EXPECT_THAT(wrapped("one two three four", 5, 2), ElementsAre("one", "two …"));
    EXPECT_THAT(wrapped("SET lock 1 → OK", 12), ElementsAre("SET lock 1", "→ OK"));
    EXPECT_THAT(wrapped("宽", 1), ElementsAre("宽"));
}

TEST(columns, harmless_text_has_nothing_to_obey) {
    EXPECT_EQ(harmless(std::string("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(harmless("\x1b[31m\n"), "\\x1b[31m\\x0a");
    EXPECT_EQ(harmless("\xff\xc3("), "\\xff\\xc3(");
    EXPECT_EQ(harmless("a\u202eb\u200bc\xef\xbf\xbf"), "a\ufffdb\ufffdc\ufffd");
    EXPECT_EQ(harmless("锁 → “ok”…"), "锁 → “ok”…");
}

TEST(markup, is_escaped_for_xml_and_for_scripts) {
    EXPECT_EQ(escaped("<script>\"'&]]>"), "&lt;script&gt;&quot;&#39;&amp;]]&gt;");
    EXPECT_EQ(as_json("</script>\\\"&"), "\"\\u003c/script\\u003e\\\\\\\"\\u0026\"");
}

}  // namespace
}  // namespace lab
