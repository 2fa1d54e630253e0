#include "stores/sql/row_removals.hpp"

#include "stores/sql/row_line.hpp"

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::sql {
namespace {

row_claim_ptr leaver(std::uint64_t number, const std::string& name = "n") {
    auto one = std::make_shared<row_claim>(base::queued_claim::rules{});
    one->name = name;
    one->entry.id = claim_id{{number, 1}};
    return one;
}

TEST(row_removals, go_together_if_they_come_while_one_is_under_way) {
    row_removals all;
    EXPECT_TRUE(all.add({leaver(1), 1, 0}));
    EXPECT_EQ(all.begin("n"), removal_record({{1, 1}}, 0));
    EXPECT_FALSE(all.add({leaver(2), 1, 7}));
    EXPECT_FALSE(all.add({leaver(3), 1, 0}));
    EXPECT_TRUE(all.add({leaver(4, "m"), 1, 0})) << "another name";
    ASSERT_EQ(all.end("n").size(), 1U);
    EXPECT_EQ(all.begin("n"), removal_record({{2, 1}}, 7) + removal_record({{3, 1}}, 0));
    EXPECT_EQ(all.end("n").size(), 2U);
    EXPECT_EQ(all.begin("n"), "");
    EXPECT_TRUE(all.end("n").empty());
    EXPECT_TRUE(all.add({leaver(5), 1, 0}));
}

TEST(row_removals, read_what_became_of_each_and_whom_it_granted) {
    const std::string number{"\0\0\0\0\0\0\1\2", 8};
    const removal_answer says{{.rows = {{std::string{"1001"}, std::int64_t{1}, bytes_of({{5, 6}}) + number}}}};
    EXPECT_TRUE(says.was_there(0));
    EXPECT_FALSE(says.took_place(0));
    EXPECT_FALSE(says.was_there(1));
    EXPECT_TRUE(says.took_place(1));
    EXPECT_FALSE(says.was_there(2));
    EXPECT_TRUE(says.others);
    ASSERT_EQ(says.granted.size(), 1U);
    EXPECT_EQ(says.granted[0].first, (claim_id{{5, 6}}));
    EXPECT_EQ(says.granted[0].second, 258U);
}

TEST(row_removals, read_nothing_from_a_failure_or_another_schema) {
    const removal_answer failed{{.how = {.is = outcome::kind::unsure}}};
    EXPECT_FALSE(failed.was_there(0));
    EXPECT_TRUE(failed.granted.empty());
    const removal_answer nobody{{.rows = {{std::string{"10"}, std::int64_t{0}, value{}}}}};
    EXPECT_TRUE(nobody.was_there(0));
    EXPECT_FALSE(nobody.others);
    EXPECT_TRUE(nobody.granted.empty());
}

}  // namespace
}  // namespace mortise::inline v0::stores::sql
