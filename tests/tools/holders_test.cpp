#include "tools/mortise/holders.hpp"

#include "tools/mortise/text.hpp"

#include <chrono>

#include <gmock/gmock.h>

namespace command {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(holders, are_called_as_they_said) {
    EXPECT_EQ(holder_text({.host = "web-3", .pid = 4711, .label = "nightly"}), "web-3 pid 4711 (nightly)");
    EXPECT_EQ(holder_text({.host = "10.0.0.7", .pid = 0, .label = ""}), "10.0.0.7");
    EXPECT_EQ(holder_text({}), "another program");
}

TEST(holders, of_whom_no_time_is_known_have_none) {
    mortise::held_lock one{.name = "n", .holder = {.host = "web-3", .pid = 4711, .label = ""}};
    EXPECT_EQ(held_for_text(one.holder), "");
    EXPECT_THAT(as_table({one}).back(), HasSubstr("4711  -     -     alone"));
    EXPECT_THAT(as_json(one).text(), HasSubstr("\"held_for_s\":null"));
    EXPECT_THAT(as_json(one).text(), HasSubstr("\"lease_left_s\":null"));
    EXPECT_EQ(lease_left_text(one), "");
    one.lease_left = 25s;
    EXPECT_EQ(lease_left_text(one), ", lease ends in 25 s");
    EXPECT_THAT(as_table({one}).back(), HasSubstr("25 s"));
    EXPECT_THAT(as_json(one).text(), HasSubstr("\"lease_left_s\":25"));
    one.holder.held_for = 0s;
    EXPECT_EQ(held_for_text(one.holder), ", for 0 ms") << "known, and short";
    one.holder.held_for = 12s;
    EXPECT_EQ(held_for_text(one.holder), ", for 12 s");
    EXPECT_EQ(held_for_text(one.holder, " "), " for 12 s");
    EXPECT_THAT(as_table({one}).back(), HasSubstr("12 s"));
    EXPECT_THAT(as_json(one).text(), Not(HasSubstr("null")));
}

mortise::held_lock long_one() {
    mortise::held_lock one{
        .name = std::string(60, 'n'),
        .holder = {.host = "a-host-with-a-long-name.example.org", .pid = 4194304, .label = "nightly"}};
    one.holder.held_for = 119min;
    one.holder.token = mortise::token{18378182342732699648U};
    one.lease_left = 119s;
    one.capacity = std::uint32_t{1} << 31;
    one.weight = 2;
    one.waiting = 1000;
    return one;
}

TEST(holders, fit_a_terminal) {
    mortise::held_lock wide{.name = "\xe5\xa4\x9c\xe9\x96\x93\xe5\xa4\x9c\xe9\x96\x93\xe5\xa4\x9c\xe9\x96\x93"};
    for (const std::size_t width : {20U, 40U, 79U, 80U, 81U, 120U, 300U})
        for (const std::string& each : as_table({long_one(), wide}, width)) EXPECT_LE(columns_in(each), width) << each;
    EXPECT_THAT(as_table({long_one()}, 80).back(), HasSubstr("18378182342732699648")) << "break asks for it";
    EXPECT_THAT(as_table({long_one()}, 80).back(), HasSubstr("nnnnnnn..."));
    EXPECT_EQ(as_table({long_one()}, 300), as_table({long_one()})) << "as much as there is room for";
    EXPECT_THAT(as_table({long_one()}).back(), HasSubstr(long_one().name + "  " + holder_text(long_one().holder)))
        << "a pipe gets all of it";
}

TEST(holders, say_what_a_narrow_terminal_hides) {
    std::string hidden;
    as_table({long_one()}, 80, &hidden);
    EXPECT_EQ(hidden, "");
    EXPECT_THAT(as_table({long_one()}, 60, &hidden).front(), Not(HasSubstr("TOKEN")));
    EXPECT_EQ(hidden, "1 column hidden: widen the terminal, or use --json");
    as_table({long_one()}, 20, &hidden);
    EXPECT_THAT(hidden, HasSubstr("columns hidden"));
}

TEST(holders, stand_in_columns_whatever_they_are_called) {
    mortise::held_lock plain_one{.name = "n", .holder = {.host = "h", .pid = 1, .label = "nacht"}};
    mortise::held_lock odd{.name = "n",
                           .holder = {.host = "h",
                                      .pid = 1,
                                      .label = "n\xc3\xa4"
                                               "ch"}};
    const auto rows = as_table({plain_one, odd});
    const auto share_at = [](const std::string& row) { return columns_in(row.substr(0, row.find("alone"))); };
    EXPECT_EQ(share_at(rows[1]), share_at(rows[2]));
}

TEST(holders, are_described_by_the_library_in_the_same_way) {
    EXPECT_EQ(mortise::holder{}.describe(), "another program");
    mortise::holder one{.host = "web-3", .pid = 4711, .label = "nightly"};
    EXPECT_EQ(one.describe(), "web-3 pid 4711 (nightly)");
    one.held_for = 12s;
    EXPECT_EQ(one.describe(), "web-3 pid 4711 (nightly), for 12 s");
}

}  // namespace
}  // namespace command
