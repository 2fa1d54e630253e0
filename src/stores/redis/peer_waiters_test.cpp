#include "stores/redis/peer_waiters.hpp"

#include <gmock/gmock.h>

namespace mortise::stores::redis {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr claim_id ours{{1, 1}};
constexpr claim_id other{{2, 2}};

TEST(redis_peer_waiters, a_message_asks_for_all_that_wait_for_it_and_for_no_others) {
    peer_waiters all;
    all.add({.name = "a", .id = ours}, "channel of a");
    all.add({.name = "b", .id = other}, "channel of b");
    EXPECT_FALSE(all.answered(ours));
    EXPECT_FALSE(all.answered(other));
    const auto due = all.heard("channel of a");
    ASSERT_THAT(due, SizeIs(1));
    EXPECT_EQ(due.front().name, "a");
    EXPECT_THAT(all.heard("channel of c"), IsEmpty());
}

TEST(redis_peer_waiters, messages_that_come_while_it_is_asked_for_have_it_asked_for_once_more) {
    peer_waiters all;
    all.add({.id = ours}, "c");
    EXPECT_THAT(all.heard("c"), IsEmpty()) << "it is being asked for";
    EXPECT_THAT(all.heard("c"), IsEmpty());
    EXPECT_TRUE(all.answered(ours));
    EXPECT_FALSE(all.answered(ours)) << "once";
    EXPECT_THAT(all.heard("c"), SizeIs(1));
}

// Or its channel would be listened to twice and left once.
TEST(redis_peer_waiters, a_claim_that_is_repeated_waits_once) {
    peer_waiters all;
    EXPECT_TRUE(all.add({.id = ours}, "c"));
    EXPECT_FALSE(all.add({.id = ours}, "c"));
    EXPECT_FALSE(all.answered(ours));
    EXPECT_FALSE(all.add({.id = ours}, "c"));
    EXPECT_THAT(all.heard("c"), SizeIs(1)) << "a repeat changes nothing of it";
    EXPECT_TRUE(all.remove(ours));
    EXPECT_TRUE(all.add({.id = ours}, "c"));
}

TEST(redis_peer_waiters, what_was_removed_waits_for_nothing) {
    peer_waiters all;
    all.add({.id = ours}, "c");
    EXPECT_TRUE(all.contains(ours));
    EXPECT_EQ(all.remove(ours), "c");
    EXPECT_FALSE(all.contains(ours));
    EXPECT_FALSE(all.remove(ours));
    EXPECT_FALSE(all.answered(ours));
    EXPECT_THAT(all.heard("c"), IsEmpty());
}

}  // namespace
}  // namespace mortise::stores::redis
