#include "tools/mortise/holders.hpp"

#include <chrono>

#include <gmock/gmock.h>

namespace command {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(holders, are_called_as_they_said) {
    EXPECT_EQ(who({.host = "web-3", .pid = 4711, .label = "nightly"}), "web-3 pid 4711 (nightly)");
    EXPECT_EQ(who({.host = "10.0.0.7", .pid = 0, .label = ""}), "10.0.0.7");
    EXPECT_EQ(who({}), "another program");
}

TEST(holders, of_whom_no_time_is_known_have_none) {
    mortise::held_lock one{.name = "n", .holder = {.host = "web-3", .pid = 4711, .label = ""}};
    EXPECT_EQ(how_long(one.holder), "");
    EXPECT_THAT(as_table({one}).back(), HasSubstr("4711  -  "));
    EXPECT_THAT(as_json(one).text(), HasSubstr("\"held_for_s\":null"));
    one.holder.held_for = 12s;
    EXPECT_EQ(how_long(one.holder), ", for 12 s");
    EXPECT_EQ(how_long(one.holder, " "), " for 12 s");
    EXPECT_THAT(as_table({one}).back(), HasSubstr("12 s"));
    EXPECT_THAT(as_json(one).text(), Not(HasSubstr("null")));
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
