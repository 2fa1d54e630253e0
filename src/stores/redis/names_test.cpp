#include "stores/redis/names.hpp"

#include <random>
#include <set>
#include <string>

#include <fnmatch.h>
#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

TEST(redis_names, a_key_is_the_name_in_braces) {
    EXPECT_EQ(key_of("mortise", "orders/42"), "mortise:{orders/42}");
    EXPECT_EQ(key_of("a:b", "x"), "a:b:{x}");
}

TEST(redis_names, braces_and_percent_signs_are_escaped) {
    EXPECT_EQ(key_of("m", "{"), "m:{%7B}");
    EXPECT_EQ(key_of("m", "}{%"), "m:{%7D%7B%25}");
    EXPECT_EQ(key_of("m", "%7B"), "m:{%257B}") << "must not meet the name {";
}

std::string random_name(std::mt19937& dice) {
    static constexpr std::string_view letters = "{}%:7BbD*?[]\\ \xc3\xa9";
    std::string name(1 + dice() % 5, ' ');
    for (char& c : name) c = letters[dice() % letters.size()];
    return name;
}

TEST(redis_names, two_names_have_two_keys_and_come_back) {
    std::mt19937 dice{20240607};
    std::set<std::string> names;
    std::set<std::string> keys;
    for (int i = 0; i < 20'000; ++i) {
        const std::string name = random_name(dice);
        const std::string key = key_of("mortise", name);
        names.insert(name);
        keys.insert(key);
        ASSERT_EQ(name_of("mortise", key), name);
        ASSERT_EQ(slot_of(key), slot_of(key.substr(9, key.size() - 10)))
            << "all of the name, and nothing else, decides";
    }
    EXPECT_EQ(names.size(), keys.size());
    EXPECT_GT(names.size(), 10'000u);
}

TEST(redis_names, every_byte_comes_back) {
    for (int byte = 0; byte < 256; ++byte) {
        const std::string name(1, static_cast<char>(byte));
        EXPECT_EQ(name_of("p", key_of("p", name)), name) << byte;
    }
}

TEST(redis_names, other_keys_have_no_name) {
    for (const char* key : {"", "mortise", "mortise:", "mortise:{", "mortise:{}x", "mortise{a}", "mortis:{a}",
                            "mortise2:{a}", "mortise:a", "mortise:{a%}", "mortise:{a%7}", "mortise:{a%7b}",
                            "mortise:{a%zz}", "xmortise:{a}", "mortise:{%61}", "mortise:{a{b}", "mortise:{a}b}"})
        EXPECT_EQ(name_of("mortise", key), std::nullopt) << key;
}

TEST(redis_names, slots_are_those_of_the_cluster_specification) {
    EXPECT_EQ(slot_of("123456789"), 12739);
    EXPECT_EQ(slot_of(""), 0);
    EXPECT_EQ(slot_of("foo"), 12182);
    EXPECT_EQ(slot_of("bar"), 5061);
}

TEST(redis_names, what_stands_in_the_first_braces_decides) {
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
    EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
    EXPECT_EQ(slot_of("foo{}{bar}"), 8363) << "an empty pair is none, and hides the rest";
    EXPECT_NE(slot_of("a{b"), slot_of("b"));
}

TEST(redis_names, the_pattern_matches_the_prefix_word_for_word) {
    EXPECT_EQ(pattern_of("mortise"), "mortise:{*}");
    for (const std::string prefix : {"a*", "a?", "[ab]", "a\\", "^a", "a-z"}) {
        const std::string pattern = pattern_of(prefix);
        EXPECT_EQ(::fnmatch(pattern.c_str(), key_of(prefix, "n").c_str(), 0), 0) << pattern;
        EXPECT_NE(::fnmatch(pattern.c_str(), key_of("ab", "n").c_str(), 0), 0) << pattern;
        EXPECT_NE(::fnmatch(pattern.c_str(), key_of("a", "n").c_str(), 0), 0) << pattern;
    }
}

}  // namespace
}  // namespace mortise::stores::redis
