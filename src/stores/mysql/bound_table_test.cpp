// Which connection a claim is on, event by event. No server, no threads.
#include "stores/mysql/bound_table.hpp"

#include <mortise/error.hpp>

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using action_kind = bound_table::action::kind;
using claim_is = spi::claim_answer::verdict;
using taken = bound_table::taken;

class bound_claim_events : public ::testing::Test {
protected:
    static std::vector<action_kind> kinds(const bound_table::actions& of) {
        std::vector<action_kind> all;
        for (const auto& one : of) all.push_back(one.what);
        return all;
    }
    bound_table::actions ask(const claim_id& id, bool queue) {
        return table_.ask({.name = "n", .id = id, .queue = queue}, now_);
    }
    taken yes() const { return {.is = taken::verdict::yes, .counter = 7, .session = 1, .sent = now_}; }

    bound_table table_{2, 10s};
    spi::time_point now_{1000s};
    const claim_id a_ = claim_id::random();
    const claim_id b_ = claim_id::random();
    const claim_id c_ = claim_id::random();
};

TEST_F(bound_claim_events, a_claim_is_taken_held_and_freed_once) {
    EXPECT_THAT(kinds(ask(a_, false)), ElementsAre(action_kind::take));
    const auto granted = table_.took(a_, yes(), now_);
    ASSERT_THAT(kinds(granted), ElementsAre(action_kind::answer));
    EXPECT_EQ(granted[0].answer_is.is, claim_is::granted);
    EXPECT_EQ(granted[0].answer_is.grant.counter, 7u);
    EXPECT_EQ(ask(a_, false).at(0).answer_is.grant.counter, 7u) << "a repeat gets the same answer";
    EXPECT_THAT(kinds(table_.release("n", a_, now_)), ElementsAre(action_kind::free));
    EXPECT_THAT(kinds(table_.release("n", a_, now_)), IsEmpty());
    EXPECT_THAT(kinds(table_.freed(a_, now_)), ElementsAre(action_kind::released));
    EXPECT_EQ(table_.release("n", a_, now_).at(0).released_as, spi::release_answer::released);
    EXPECT_EQ(ask(a_, true).at(0).answer_is.reason, errc::cancelled) << "late, after its own release";
}

TEST_F(bound_claim_events, a_grant_that_comes_after_the_wait_was_given_up_is_freed) {
    ask(a_, true);
    EXPECT_THAT(kinds(table_.release("n", a_, now_)), ElementsAre(action_kind::stop));
    EXPECT_THAT(kinds(table_.took(a_, yes(), now_)), ElementsAre(action_kind::free));
    const auto over = table_.freed(a_, now_);
    EXPECT_EQ(over.back().released_as, spi::release_answer::released);
    EXPECT_FALSE(table_.held(a_));
}

TEST_F(bound_claim_events, a_stopped_wait_frees_what_it_may_have_got) {
    ask(a_, true);
    table_.release("n", a_, now_);
    EXPECT_THAT(kinds(table_.took(a_, {.is = taken::verdict::again}, now_)), ElementsAre(action_kind::free));
}

TEST_F(bound_claim_events, the_claim_without_a_connection_is_refused) {
    ask(a_, true);
    ask(b_, true);
    const auto refused = ask(c_, true);
    EXPECT_EQ(refused.at(0).answer_is.is, claim_is::refused);
    EXPECT_EQ(refused.at(0).answer_is.reason, errc::exhausted);
    table_.release("n", a_, now_);
    table_.took(a_, {.is = taken::verdict::cut_off}, now_);
    EXPECT_THAT(kinds(ask(c_, true)), ElementsAre(action_kind::take));
}

TEST_F(bound_claim_events, a_wait_is_told_so_after_a_moment_and_then_pushed) {
    ask(a_, true);
    EXPECT_THAT(kinds(table_.tick(now_ + 10ms)), IsEmpty());
    EXPECT_THAT(kinds(table_.tick(now_ + 200ms)), ElementsAre(action_kind::look));
    EXPECT_THAT(kinds(table_.tick(now_ + 300ms)), IsEmpty());
    EXPECT_EQ(table_.looked(a_, true, {}, now_ + 300ms).at(0).answer_is.is, claim_is::queued);
    const auto late = table_.took(a_, yes(), now_ + 9s);
    EXPECT_THAT(kinds(late), ElementsAre(action_kind::confirm)) << "the grant may be old";
    EXPECT_THAT(kinds(table_.confirmed(a_, true, now_ + 9s, now_ + 9s)), ElementsAre(action_kind::granted));
}

// Else its caller would wait for as long as it likes on a server that is not there.
TEST_F(bound_claim_events, a_wait_is_not_told_so_if_nobody_could_be_asked) {
    ask(a_, true);
    EXPECT_THAT(kinds(table_.tick(now_ + 200ms)), ElementsAre(action_kind::look));
    EXPECT_THAT(kinds(table_.looked(a_, std::nullopt, {}, now_ + 200ms)), IsEmpty());
    EXPECT_THAT(kinds(table_.tick(now_ + 250ms)), IsEmpty());
    EXPECT_THAT(kinds(table_.tick(now_ + 400ms)), ElementsAre(action_kind::look));
}

TEST_F(bound_claim_events, a_connection_that_was_replaced_holds_nothing) {
    ask(a_, true);
    table_.took(a_, yes(), now_);
    EXPECT_FALSE(table_.renewed(a_, 2, 10s, now_ + 1s));
    EXPECT_TRUE(table_.renewed(a_, 1, 10s, now_ + 1s));
    EXPECT_THAT(kinds(table_.session_lost(table_.held(a_)->where, 2, now_)), IsEmpty());
    EXPECT_THAT(kinds(table_.session_lost(table_.held(a_)->where, 1, now_)), ElementsAre(action_kind::lost));
    EXPECT_THAT(kinds(table_.release("n", a_, now_)), ElementsAre(action_kind::look));
    EXPECT_EQ(table_.looked(a_, true, {}, now_).at(0).released_as, spi::release_answer::taken_over);
}

TEST_F(bound_claim_events, a_token_counts_only_if_the_connection_outlived_its_making) {
    ask(a_, true);
    EXPECT_THAT(kinds(table_.took(a_, {.is = taken::verdict::yes, .session = 1, .sent = now_}, now_)),
                ElementsAre(action_kind::stamp));
    EXPECT_THAT(kinds(table_.stamped(a_, {.is = taken::verdict::yes, .counter = 9})),
                ElementsAre(action_kind::confirm));
    EXPECT_THAT(kinds(table_.confirmed(a_, false, now_, now_)), ElementsAre(action_kind::take)) << "it begins anew";
}

TEST_F(bound_claim_events, a_hold_that_is_not_renewed_is_freed_and_its_release_says_who_came_after) {
    ask(a_, true);
    table_.took(a_, yes(), now_);
    EXPECT_THAT(kinds(table_.tick(now_ + 9s)), IsEmpty());
    EXPECT_THAT(kinds(table_.tick(now_ + 10s)), ElementsAre(action_kind::free));
    EXPECT_THAT(kinds(table_.release("n", a_, now_ + 10s)), IsEmpty());
    EXPECT_THAT(kinds(table_.freed(a_, now_ + 10s)), ElementsAre(action_kind::look));
    EXPECT_EQ(table_.looked(a_, false, {}, now_ + 10s).at(0).released_as, spi::release_answer::expired);
}

}  // namespace
}  // namespace mortise::inline v0::stores::mysql
