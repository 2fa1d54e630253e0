// Which session a claim is on, without a server.
#include "stores/postgres/advisory_table.hpp"

#include <mortise/error.hpp>

#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::postgres {
namespace {

using namespace std::chrono_literals;
using action_kind = advisory_table::action::kind;
using verdict = advisory_table::lock_result::verdict;
using claim_is = spi::claim_answer::verdict;

class advisory_sessions_of_claims : public ::testing::Test {
protected:
    advisory_table table_{1, 27s};
    spi::time_point now_{1h};
    const claim_id a_ = claim_id::random();
    const claim_id b_ = claim_id::random();

    advisory_table::actions ask(const claim_id& id, bool queue = true, const std::string& name = "n") {
        return table_.ask({.name = name, .id = id, .queue = queue}, now_);
    }
    advisory_table::lock_result taken(std::uint64_t counter, std::int64_t pid = 7) const {
        return {.is = verdict::taken, .counter = counter, .pid = pid, .sent = now_};
    }
    static std::string shown(const advisory_table::actions& all) {
        static constexpr const char* words[] = {"try",  "wait", "cancel", "clear",   "unlock", "confirm",
                                                "look", "poll", "answer", "granted", "lost",   "released"};
        std::string text;
        for (const auto& one : all) text += (text.empty() ? "" : " ") + std::string(words[static_cast<int>(one.what)]);
        return text;
    }
};

TEST_F(advisory_sessions_of_claims, a_free_name_is_taken_on_the_main_session) {
    EXPECT_EQ(shown(ask(a_)), "try");
    const auto told = table_.tried(a_, taken(5), now_);
    ASSERT_EQ(shown(told), "answer");
    EXPECT_EQ(told[0].answer_is.is, claim_is::granted);
    EXPECT_EQ(told[0].answer_is.grant.counter, 5u);
    EXPECT_EQ(shown(table_.release("n", a_, now_)), "unlock");
    EXPECT_EQ(shown(table_.unlocked(a_, true, now_)), "released");
    EXPECT_EQ(ask(a_)[0].answer_is.reason, errc::cancelled) << "a claim that arrives after its release";
}

TEST_F(advisory_sessions_of_claims, a_session_is_never_asked_twice_for_one_name) {
    EXPECT_EQ(shown(ask(a_)), "try");
    EXPECT_EQ(shown(ask(b_, false)), "") << "behind it";
    const auto told = table_.tried(a_, taken(5), now_);
    ASSERT_EQ(shown(told), "answer answer");
    EXPECT_EQ(told[1].answer_is.is, claim_is::busy);
    EXPECT_EQ(shown(ask(b_)), "wait answer") << "on another session";
}

TEST_F(advisory_sessions_of_claims, who_has_no_session_to_wait_on_polls_until_one_is_free) {
    ask(a_);
    EXPECT_EQ(shown(table_.tried(a_, {.is = verdict::not_free}, now_)), "wait answer");
    ask(b_, true, "m");
    EXPECT_EQ(shown(table_.tried(b_, {.is = verdict::not_free}, now_)), "poll answer");
    EXPECT_EQ(shown(table_.poll(b_, now_)), "try");
    EXPECT_EQ(shown(table_.tried(b_, {.is = verdict::not_free}, now_)), "poll");
    EXPECT_EQ(shown(table_.waited(a_, taken(6), now_)), "granted");
    EXPECT_EQ(shown(table_.release("n", a_, now_)), "unlock");
    EXPECT_EQ(shown(table_.unlocked(a_, true, now_)), "wait released") << "the session goes to who polls";
    EXPECT_EQ(shown(table_.poll(b_, now_)), "") << "an old timer";
}

TEST_F(advisory_sessions_of_claims, a_grant_after_a_long_wait_is_confirmed_first) {
    ask(a_);
    table_.tried(a_, {.is = verdict::not_free}, now_);
    const auto old = taken(6);
    now_ += 1min;
    EXPECT_EQ(shown(table_.waited(a_, old, now_)), "confirm");
    EXPECT_FALSE(table_.held(a_));
    const auto told = table_.confirmed(a_, true, now_, now_);
    ASSERT_EQ(shown(told), "granted");
    EXPECT_EQ(told[0].answer_is.grant.counted_from, now_);
}

TEST_F(advisory_sessions_of_claims, a_cancelled_wait_that_was_granted_is_undone) {
    ask(a_);
    table_.tried(a_, {.is = verdict::not_free}, now_);
    EXPECT_EQ(shown(table_.release("n", a_, now_)), "cancel");
    EXPECT_EQ(shown(table_.waited(a_, taken(6), now_)), "clear");
    EXPECT_EQ(shown(table_.cleared(a_, now_)), "released");
}

TEST_F(advisory_sessions_of_claims, a_lost_session_ends_its_holds_and_begins_its_waits_anew) {
    ask(a_);
    table_.tried(a_, taken(5), now_);
    EXPECT_EQ(shown(table_.session_lost(advisory_table::main, now_)), "lost");
    EXPECT_EQ(shown(table_.release("n", a_, now_)), "look");
    EXPECT_EQ(table_.looked(a_, true, now_)[0].released_as, spi::release_answer::taken_over);
    ask(b_);
    table_.tried(b_, {.is = verdict::not_free}, now_);
    EXPECT_EQ(shown(table_.waited(b_, {.is = verdict::cut_off}, now_)), "poll");
    EXPECT_EQ(shown(table_.poll(b_, now_)), "wait");
}

TEST_F(advisory_sessions_of_claims, a_renewal_counts_for_the_session_that_answered) {
    ask(a_);
    table_.tried(a_, taken(5, 7), now_);
    EXPECT_FALSE(table_.renewed(a_, 8, 27s, now_));
    now_ += 20s;
    EXPECT_TRUE(table_.renewed(a_, 7, 27s, now_));
    EXPECT_EQ(shown(table_.expire(now_ + 26s)), "");
    EXPECT_EQ(shown(table_.expire(now_ + 27s)), "unlock");
}

TEST_F(advisory_sessions_of_claims, a_release_that_meets_the_end_of_its_lease_is_told_who_has_the_lock_by_then) {
    ask(a_);
    table_.tried(a_, taken(5), now_);
    now_ += 27s;
    EXPECT_EQ(shown(table_.expire(now_)), "unlock");
    EXPECT_EQ(shown(table_.release("n", a_, now_)), "");
    EXPECT_EQ(shown(table_.unlocked(a_, true, now_)), "look");
    EXPECT_EQ(table_.looked(a_, true, now_)[0].released_as, spi::release_answer::taken_over);
}

}  // namespace
}  // namespace mortise::inline v0::stores::postgres
