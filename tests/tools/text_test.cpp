#include "tools/mortise/text.hpp"

#include "tools/mortise/failure.hpp"
#include "tools/mortise/json.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace command {
namespace {

using namespace std::chrono_literals;

TEST(durations, seconds_and_what_is_named) {
    EXPECT_EQ(read_duration("-w", "2"), 2s);
    EXPECT_EQ(read_duration("-w", "0.5"), 500ms);
    EXPECT_EQ(read_duration("-w", "2s"), 2s);
    EXPECT_EQ(read_duration("-w", "200ms"), 200ms);
    EXPECT_EQ(read_duration("-w", "5m"), 5min);
    EXPECT_EQ(read_duration("-w", "1.5h"), 90min);
    EXPECT_EQ(read_duration("-w", "1d"), 24h);
    EXPECT_EQ(read_duration("-w", "1m30s"), 90s);
    EXPECT_EQ(read_duration("-w", "1d12h0.5m3s20ms"), 36h + 33020ms);
    EXPECT_EQ(read_duration("-w", "0"), 0s);
    EXPECT_EQ(read_duration("-w", ".25s"), 250ms);
    EXPECT_EQ(read_duration("-w", "0.0000000001"), 1ns) << "a wait stays one";
}

TEST(durations, nothing_else) {
    for (const char* wrong : {"",    "s",     "ms",   "-1",   "+1",  "1e3", "nan",   "inf", "0x10",
                              "1 s", " 1",    "m",    "h",    "2y",  "2hs", "1.2.3", ".",   "99999999999999999999",
                              "2ss", "30s1m", "1m1m", "1m30", "366d"})
        EXPECT_THROW(read_duration("-w", wrong), failure) << wrong;
}

TEST(numbers, only_in_range) {
    EXPECT_EQ(read_number("-E", "255", 0, 255), 255);
    for (const char* wrong : {"", "256", "-1", "1.5", "1x", " 1", "99999999999999999999"})
        EXPECT_THROW(read_number("-E", wrong, 0, 255), failure) << wrong;
}

TEST(text, nothing_that_a_terminal_would_obey) {
    EXPECT_EQ(plain("pl\xc3\xa4in \xe6\xa6\xab"), "pl\xc3\xa4in \xe6\xa6\xab");
    EXPECT_EQ(plain("\x1b[2J\n"), "\\x1b[2J\\x0a");
    EXPECT_EQ(plain("\xc2\x9b"), "\\xc2\\x9b") << "a C1 control";
    EXPECT_EQ(plain("\xff\xc3"), "\\xff\\xc3") << "no UTF-8";
    EXPECT_EQ(plain("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
    EXPECT_EQ(in_quotes(std::string(200, 'a')).size(), 85U);
}

TEST(text, is_measured_in_columns) {
    EXPECT_EQ(columns_in("plain"), 5u);
    EXPECT_EQ(columns_in("n\xc3\xa4"
                         "chtlich"),
              9u);
    EXPECT_EQ(columns_in("na\xcc\x88"
                         "chtlich"),
              9u)
        << "a combining mark";
    EXPECT_EQ(columns_in("\xe5\xa4\x9c\xe9\x96\x93"), 4u) << "two columns each";
    EXPECT_EQ(columns_in("\xf0\x9f\x94\x92"), 2u);
    EXPECT_EQ(fitted("nightly", 7), "nightly");
    EXPECT_EQ(fitted("nightly report", 10), "nightly...");
    EXPECT_EQ(fitted("\xe5\xa4\x9c\xe9\x96\x93\xe5\xa4\x9c", 6), "\xe5\xa4\x9c\xe9\x96\x93\xe5\xa4\x9c");
    EXPECT_EQ(fitted("\xe5\xa4\x9c\xe9\x96\x93\xe5\xa4\x9c", 5), "\xe5\xa4\x9c...") << "no half characters";
    EXPECT_EQ(fitted("long", 2), "..");
    EXPECT_EQ(in_quotes(std::string(79, 'a') + "\xc3\xa4"
                                               "bcdef"),
              "'" + std::string(79, 'a') + "\xc3\xa4...'");
    EXPECT_EQ(first_bytes("n\xc3\xa4"
                          "chtlich",
                          2),
              "n")
        << "whole characters";
    EXPECT_EQ(first_bytes("n\xc3\xa4"
                          "chtlich",
                          3),
              "n\xc3\xa4");
}

TEST(text, spans_for_people) {
    EXPECT_EQ(readable(250ms), "250 ms");
    EXPECT_EQ(readable(12s), "12 s");
    EXPECT_EQ(readable(3min), "3 min");
    EXPECT_EQ(readable(5h), "5 h");
    EXPECT_EQ(readable(72h), "3 d");
}

TEST(text, the_nearest_word) {
    const std::vector<std::string_view> known{"list", "release", "run"};
    EXPECT_EQ(nearest("lst", known), "list");
    EXPECT_EQ(nearest("relase", known), "release");
    EXPECT_EQ(nearest("bench", known), "");
}

TEST(json, objects) {
    json inner;
    inner.add("a", "q\"\\").add("n", std::int64_t{-3});
    EXPECT_EQ(json{}.add("o", inner).add("b", true).add("d", 0.5).text(),
              R"({"o":{"a":"q\"\\","n":-3},"b":true,"d":0.5})");
    EXPECT_EQ(json{}.add("raw", "\x01\xff").text(), R"({"raw":"\\x01\\xff"})");
    EXPECT_EQ(json{}.text(), "{}");
}

}  // namespace
}  // namespace command
