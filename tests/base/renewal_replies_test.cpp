#include "base/renewal_replies.hpp"

#include <gmock/gmock.h>

namespace mortise {
namespace {

using base::renewal_replies;
using ::testing::ElementsAre;
using enum spi::renewal_answer;

class renewal_replies_test : public ::testing::Test {
protected:
    std::vector<std::vector<spi::renewal_answer>> completed_;
    renewal_replies replies_{3, [this](std::vector<spi::renewal_answer> all) { completed_.push_back(std::move(all)); }};
};

TEST_F(renewal_replies_test, completes_once_when_the_last_has_come_in_the_order_of_the_request) {
    replies_.set(std::vector<std::size_t>{2, 0}, std::vector{lost, renewed});
    EXPECT_TRUE(completed_.empty());
    EXPECT_FALSE(replies_.complete());
    replies_.set(std::vector<std::size_t>{1}, renewed);
    ASSERT_EQ(completed_.size(), 1u);
    EXPECT_THAT(completed_.front(), ElementsAre(renewed, renewed, lost));
    EXPECT_TRUE(replies_.complete());
    replies_.complete_early();
    EXPECT_EQ(completed_.size(), 1u);
}

TEST_F(renewal_replies_test, what_has_not_come_is_unknown_and_may_come_later_in_vain) {
    replies_.set(std::vector<std::size_t>{1}, lost);
    replies_.complete_early();
    replies_.set(std::vector<std::size_t>{0, 2}, renewed);
    ASSERT_EQ(completed_.size(), 1u);
    EXPECT_THAT(completed_.front(), ElementsAre(unknown, lost, unknown));
}

}  // namespace
}  // namespace mortise
