#include "stores/redis/sent_claims.hpp"

#include "stores/redis/late_claims.hpp"

#include <gmock/gmock.h>

namespace mortise::stores::redis {
namespace {

using namespace std::chrono_literals;
using enum spi::claim_answer::verdict;
using by = sent_claims::by;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr claim_id one{{1, 2}};
constexpr sent_claims::terms mine{.own = true};
constexpr spi::time_point start{1h};

TEST(redis_sent_claims, only_a_claim_of_which_nothing_is_out_may_be_a_plain_command) {
    sent_claims all;
    EXPECT_TRUE(all.may_be_plain(one, start));
    all.asked(one, by::plain_command);
    EXPECT_FALSE(all.may_be_plain(one, start)) << "it is on its way";
    all.answered(one, by::plain_command, busy, mine);
    EXPECT_TRUE(all.may_be_plain(one, start)) << "all was answered, and nothing came of it";
    all.asked(one, by::script);
    all.answered(one, by::script, unknown, mine);
    EXPECT_FALSE(all.may_be_plain(one, start)) << "the script may yet be carried out";
}

TEST(redis_sent_claims, a_claim_that_was_released_is_asked_for_by_the_script_which_knows_of_that) {
    sent_claims all;
    EXPECT_TRUE(all.releasing(one, start)) << "nothing is known of it: others may repeat it";
    EXPECT_FALSE(all.may_be_plain(one, start));
    all.released(one, spi::release_answer::expired, start);
    EXPECT_FALSE(all.may_be_plain(one, start + 9s));
    EXPECT_TRUE(all.may_be_plain(one, start + 11s)) << "as long as the server knows of it";
}

TEST(redis_sent_claims, what_was_answered_needs_no_mark_on_the_server) {
    for (const by how : {by::plain_command, by::script}) {
        sent_claims all;
        all.asked(one, how);
        all.answered(one, how, granted, mine);
        EXPECT_FALSE(all.releasing(one, start));
        const auto outcome = all.released(one, spi::release_answer::released, start);
        EXPECT_EQ(outcome.answer, spi::release_answer::released);
        EXPECT_FALSE(outcome.may_come);
    }
}

TEST(redis_sent_claims, what_others_may_release_is_marked) {
    sent_claims all;
    all.asked(one, by::plain_command);
    all.answered(one, by::plain_command, granted, {.own = false});
    EXPECT_TRUE(all.releasing(one, start));
}

TEST(redis_sent_claims, a_script_that_may_come_later_is_refused_by_a_mark) {
    sent_claims all;
    all.asked(one, by::script);
    EXPECT_TRUE(all.releasing(one, start)) << "it is on its way";
    all.answered(one, by::script, unknown, mine);
    EXPECT_TRUE(all.releasing(one, start)) << "it was not answered";
}

TEST(redis_sent_claims, a_plain_command_without_an_answer_may_come_whatever_its_repeat_was_answered) {
    sent_claims all;
    all.asked(one, by::plain_command);
    all.answered(one, by::plain_command, unknown, mine);
    all.asked(one, by::script);
    all.answered(one, by::script, granted, mine);
    all.releasing(one, start);
    EXPECT_TRUE(all.released(one, spi::release_answer::released, start).may_come);
    EXPECT_FALSE(all.released(one, spi::release_answer::expired, start).may_come) << "said once";
}

TEST(redis_sent_claims, a_release_that_is_answered_before_the_plain_command_has_overtaken_it) {
    sent_claims all;
    all.asked(one, by::plain_command);
    EXPECT_FALSE(all.releasing(one, start)) << "on one connection it comes after it";
    EXPECT_TRUE(all.released(one, spi::release_answer::expired, start).may_come);
}

TEST(redis_sent_claims, a_claim_that_is_released_meanwhile_does_not_go_on) {
    sent_claims all;
    all.asked(one, by::plain_command);
    EXPECT_TRUE(all.goes_on_by_script(one));
    EXPECT_TRUE(all.releasing(one, start)) << "the script is on its way";
    all.released(one, spi::release_answer::expired, start);
    all.asked(one, by::plain_command);
    EXPECT_FALSE(all.releasing(one, start));
    EXPECT_FALSE(all.goes_on_by_script(one)) << "it would come after the release";
    EXPECT_FALSE(all.released(one, spi::release_answer::expired, start).may_come);
    EXPECT_FALSE(all.goes_on_by_script(one));
}

TEST(redis_sent_claims, a_repeated_release_has_the_answer_of_the_one_before_it) {
    sent_claims all;
    all.asked(one, by::plain_command);
    all.answered(one, by::plain_command, granted, mine);
    all.releasing(one, start);
    EXPECT_EQ(all.released(one, spi::release_answer::unknown, start).answer, spi::release_answer::unknown);
    all.releasing(one, start);
    EXPECT_EQ(all.released(one, spi::release_answer::expired, start).answer, spi::release_answer::released);
}

TEST(redis_late_claims, are_released_again_and_again_until_none_can_come) {
    late_claims all;
    EXPECT_FALSE(all.next());
    all.add("lock:orders", one, start);
    int times = 0;
    spi::time_point last{};
    while (const auto next = all.next()) {
        EXPECT_GT(*next, last);
        EXPECT_LE(*next - std::max(last, start), late_claims::longest_pause);
        last = *next;
        const auto due = all.due(*next);
        ASSERT_THAT(due, SizeIs(1));
        EXPECT_EQ(due.front().key, "lock:orders");
        ++times;
    }
    EXPECT_EQ(last, start + 10s);
    EXPECT_LE(times, 15);
}

TEST(redis_late_claims, one_that_came_comes_no_more) {
    late_claims all;
    all.add("a", one, start);
    all.add("b", {{3, 4}}, start);
    all.came(one);
    EXPECT_THAT(all.due(start + 1s), SizeIs(1));
    all.came({{3, 4}});
    EXPECT_THAT(all.due(start + 2s), IsEmpty());
    EXPECT_FALSE(all.next());
}

TEST(redis_late_claims, of_too_many_the_oldest_are_given_up) {
    late_claims all;
    for (std::uint64_t i = 0; i <= late_claims::most; ++i) all.add("a", {{i, i}}, start + i * 1us);
    const auto due = all.due(start + 1s);
    ASSERT_THAT(due, SizeIs(late_claims::most));
    EXPECT_EQ(due.front().id, (claim_id{{1, 1}}));
}

}  // namespace
}  // namespace mortise::stores::redis
