#include "stores/redis/waiting_claims.hpp"

#include <gmock/gmock.h>

namespace mortise::stores::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr claim_id ours{{1, 1}};
constexpr spi::time_point sent{100s};
constexpr server_time then = 5000s;

inbox_message granted_at(server_time at) {
    return {.is = inbox_message::news::granted, .id = ours, .at = at};
}

waiting_claims one_waiting(unsigned replicas = 0) {
    waiting_claims all;
    all.add(ours, "name", replicas);
    all.note_time(ours, sent, then);
    return all;
}

TEST(redis_waiting_claims, count_a_pushed_grant_from_when_the_server_made_it_and_allow_for_drift) {
    EXPECT_EQ(one_waiting().judge(granted_at(then + 1s), sent + 5s).counted_from, sent + 990ms);
    EXPECT_EQ(one_waiting().judge(granted_at(then), sent + 5s).counted_from, sent);
    EXPECT_EQ(one_waiting().judge(granted_at(then + 9s), sent + 5s).counted_from, sent + 5s) << "never in the future";
}

TEST(redis_waiting_claims, ask_where_the_clock_is_not_known_or_replicas_must_confirm) {
    EXPECT_FALSE(one_waiting().judge(granted_at(then + 1s), sent + 11s).counted_from) << "too long ago";
    EXPECT_FALSE(one_waiting().judge(granted_at(then - 1s), sent + 1s).counted_from) << "the clock was set back";
    auto elsewhere = one_waiting();
    elsewhere.forget_times();
    EXPECT_FALSE(elsewhere.judge(granted_at(then + 1s), sent + 1s).counted_from);
    const auto durable = one_waiting(2).judge(granted_at(then + 1s), sent + 1s);
    EXPECT_FALSE(durable.counted_from);
    EXPECT_EQ(durable.replicas, 2u);
}

TEST(redis_waiting_claims, count_what_nobody_waits_for_from_its_arrival) {
    waiting_claims all;
    all.note_time(ours, sent, then);
    EXPECT_TRUE(all.empty());
    EXPECT_EQ(all.judge(granted_at(then), sent + 7s).counted_from, sent + 7s);
}

TEST(redis_waiting_claims, know_their_names_until_removed) {
    auto all = one_waiting();
    EXPECT_THAT(all.by_name(), ElementsAre(Pair("name", ElementsAre(ours))));
    EXPECT_TRUE(all.remove(ours));
    EXPECT_FALSE(all.remove(ours));
    EXPECT_TRUE(all.empty());
}

}  // namespace
}  // namespace mortise::stores::redis
