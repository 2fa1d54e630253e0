#include "stores/redis/subscriptions.hpp"

#include <gmock/gmock.h>

namespace mortise::stores::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

subscriptions one_subscribed() {
    subscriptions all;
    EXPECT_FALSE(all.join("a"));
    all.asked("a");
    all.answered("a");
    return all;
}

TEST(redis_subscriptions, the_first_listener_subscribes_and_the_last_unsubscribes) {
    auto all = one_subscribed();
    EXPECT_TRUE(all.join("a")) << "it is subscribed to";
    EXPECT_TRUE(all.join("a"));
    EXPECT_FALSE(all.leave("a"));
    EXPECT_FALSE(all.leave("a"));
    EXPECT_FALSE(all.empty());
    EXPECT_TRUE(all.leave("a"));
    EXPECT_TRUE(all.empty());
    EXPECT_FALSE(all.leave("a")) << "nobody listens";
}

TEST(redis_subscriptions, who_comes_before_the_answer_asks_for_an_answer_of_its_own) {
    subscriptions all;
    EXPECT_FALSE(all.join("a"));
    all.asked("a");
    EXPECT_FALSE(all.join("a")) << "not yet";
    all.asked("a");
    all.answered("a");
    EXPECT_FALSE(all.join("a")) << "the second may have been preceded by an unsubscription";
    all.answered("a");
    EXPECT_TRUE(all.join("a"));
}

// subscribe, unsubscribe and subscribe are on their way: the first answer says nothing of the third.
TEST(redis_subscriptions, an_answer_to_an_earlier_command_is_none_to_the_latest) {
    subscriptions all;
    EXPECT_FALSE(all.join("a"));
    all.asked("a");
    EXPECT_TRUE(all.leave("a"));
    all.asked("a");
    EXPECT_FALSE(all.join("a"));
    all.asked("a");
    all.answered("a");
    EXPECT_FALSE(all.join("a"));
    all.answered("a");
    all.answered("a");
    EXPECT_TRUE(all.join("a"));
}

TEST(redis_subscriptions, after_a_loss_nothing_is_subscribed_to_and_what_is_listened_to_is_wanted) {
    auto all = one_subscribed();
    EXPECT_FALSE(all.join("b"));
    all.asked("b");
    EXPECT_TRUE(all.leave("b"));
    all.asked("b");
    all.lost();
    EXPECT_THAT(all.wanted(), ElementsAre("a"));
    EXPECT_FALSE(all.join("a"));
    all.asked("a");
    all.answered("a");
    EXPECT_TRUE(all.join("a"));
}

TEST(redis_subscriptions, a_listener_that_leaves_before_it_comes_leaves_nothing_behind) {
    subscriptions all;
    EXPECT_FALSE(all.has_left("a"));
    EXPECT_FALSE(all.leave("a"));
    EXPECT_TRUE(all.empty());
    all.lost();
    EXPECT_TRUE(all.has_left("a")) << "and needs no subscription";
    EXPECT_FALSE(all.has_left("a")) << "the next one does";
    EXPECT_THAT(all.wanted(), IsEmpty());
}

TEST(redis_subscriptions, one_that_was_never_sent_is_not_taken_back) {
    subscriptions all;
    EXPECT_FALSE(all.join("a"));
    EXPECT_FALSE(all.leave("a"));
    EXPECT_TRUE(all.empty());
    EXPECT_THAT(all.wanted(), IsEmpty());
}

}  // namespace
}  // namespace mortise::stores::redis
