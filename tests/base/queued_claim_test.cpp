// What follows from each event, one after the other. Histories at random are in queued_claim_property_test.cpp.
#include "base/queued_claim.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::base::queued_claim_tests {
namespace {

using kind = queued_claim::action::kind;
using where = queued_claim::action::where;
using phase = queued_claim::phase;
using fate = queued_claim::fate;
using verdict = line_verdict::verdict;
using claim_is = spi::claim_answer::verdict;
using release_is = spi::release_answer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr spi::time_point start{};

queued_claim::line_view standing_as(verdict is, std::uint64_t counter = 7) {
    queued_claim::line_view view;
    view.verdict.is = is;
    view.in_line = true;
    view.counter = counter;
    if (is == verdict::waits) view.verdict.watch = {claim_id{{9, 9}}};
    return view;
}

queued_claim::line_view from_outside(verdict is) {
    queued_claim::line_view view = standing_as(is, 0);
    view.in_line = false;
    return view;
}

spi::claim_answer unreachable() {
    return {.is = claim_is::unknown, .reason = errc::unreachable};
}
spi::claim_answer denied() {
    return {.is = claim_is::refused, .reason = errc::denied};
}

// A claim, and what it wanted last.
class driven {
public:
    explicit driven(const queued_claim::rules& of = {}) : claim(of) {}
    explicit driven(queued_claim given) : claim(std::move(given)) {}

    std::vector<kind> operator()(queued_claim::actions wanted) {
        std::vector<kind> kinds;
        for (const auto& one : wanted) {
            kinds.push_back(one.what);
            if (one.ticket != 0) ticket = one.ticket;
        }
        last = std::move(wanted);
        return kinds;
    }
    const queued_claim::action& the(kind which) const {
        const auto at = std::ranges::find(last, which, &queued_claim::action::what);
        EXPECT_NE(at, last.end());
        return *at;
    }
    std::vector<kind> sees(const queued_claim::line_view& view, spi::time_point now = start) {
        return (*this)(claim.seen(ticket, view, now));
    }
    std::vector<kind> fails(fate what, const spi::claim_answer& why = unreachable()) {
        return (*this)(claim.failed(ticket, what, why));
    }

    void enter(bool queue = true) {
        (*this)(claim.ask(queue));
        EXPECT_TRUE(claim.entry_sent(ticket));
    }
    void hold() {
        enter();
        sees(standing_as(verdict::holds));
        EXPECT_EQ(claim.is(), phase::held);
    }
    void wait() {
        enter();
        sees(standing_as(verdict::waits));
        EXPECT_EQ(claim.is(), phase::waiting);
    }

    queued_claim claim;
    queued_claim::ticket ticket = 0;
    queued_claim::actions last{};
};

TEST(queued_claim_test, a_free_lock_takes_one_request_each_way) {
    driven one;
    EXPECT_THAT(one(one.claim.ask(true)), ElementsAre(kind::enter));
    EXPECT_EQ(one.the(kind::enter).how, where::at_end);
    EXPECT_TRUE(one.claim.entry_sent(one.ticket));
    EXPECT_THAT(one.sees(standing_as(verdict::holds)), ElementsAre(kind::unwatch, kind::watch_hold, kind::answer));
    EXPECT_EQ(one.the(kind::answer).answer_is->is, claim_is::granted);
    EXPECT_EQ(one.the(kind::answer).answer_is->grant.counter, 7u);
    EXPECT_THAT(one(one.claim.release()), ElementsAre(kind::unwatch, kind::remove));
    EXPECT_FALSE(one.the(kind::remove).late);
    EXPECT_THAT(one(one.claim.removed(one.ticket, {.was_there = true})),
                ElementsAre(kind::released, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::released).released_as, release_is::released);
    EXPECT_TRUE(one.claim.quiet());
}

TEST(queued_claim_test, who_waits_watches_and_is_granted_by_a_push) {
    driven one;
    one.enter();
    EXPECT_THAT(one.sees(standing_as(verdict::waits)), ElementsAre(kind::watch, kind::answer));
    EXPECT_EQ(one.the(kind::answer).answer_is->is, claim_is::queued);
    EXPECT_THAT(one(one.claim.woken()), ElementsAre(kind::read));
    EXPECT_FALSE(one.the(kind::read).asked);
    EXPECT_THAT(one.sees(standing_as(verdict::holds)), ElementsAre(kind::unwatch, kind::watch_hold, kind::granted));
}

TEST(queued_claim_test, what_happens_while_it_reads_is_looked_at_afterwards) {
    driven one;
    one.wait();
    one(one.claim.woken());
    EXPECT_THAT(one(one.claim.woken()), IsEmpty());
    EXPECT_THAT(one.sees(standing_as(verdict::waits)), ElementsAre(kind::watch, kind::read));
}

TEST(queued_claim_test, whoever_asks_meanwhile_gets_the_same_answer) {
    driven one;
    one.enter();
    EXPECT_THAT(one(one.claim.ask(true)), IsEmpty());
    EXPECT_THAT(one.sees(standing_as(verdict::waits)), ElementsAre(kind::watch, kind::answer));
}

TEST(queued_claim_test, a_hold_is_answered_from_memory) {
    driven one;
    one.hold();
    EXPECT_THAT(one(one.claim.ask(true)), ElementsAre(kind::answer));
    EXPECT_EQ(one.the(kind::answer).answer_is->grant.counter, 7u);
}

TEST(queued_claim_test, who_does_not_queue_enters_an_empty_line_only) {
    driven one;
    one(one.claim.ask(false));
    EXPECT_EQ(one.the(kind::enter).how, where::if_empty);
    ASSERT_TRUE(one.claim.entry_sent(one.ticket));
    EXPECT_THAT(one.sees(from_outside(verdict::holds)), ElementsAre(kind::enter));  // shared with those in it
    EXPECT_EQ(one.the(kind::enter).how, where::if_unchanged);
    ASSERT_TRUE(one.claim.entry_sent(one.ticket));
    EXPECT_THAT(one.sees(from_outside(verdict::waits)), ElementsAre(kind::answer, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::answer).answer_is->is, claim_is::busy);
}

TEST(queued_claim_test, a_line_that_is_fought_over_is_given_up_after_eight_times) {
    driven one;
    one.enter(false);
    int entries = 0;
    while (one.sees(from_outside(verdict::holds)) == std::vector{kind::enter}) {
        ASSERT_TRUE(one.claim.entry_sent(one.ticket));
        ASSERT_LT(++entries, 20);
    }
    EXPECT_EQ(entries, 8);
    EXPECT_EQ(one.the(kind::answer).answer_is->is, claim_is::unknown);
    EXPECT_THAT(one(one.claim.ask(false)), ElementsAre(kind::enter));
}

TEST(queued_claim_test, looks_before_it_enters_if_that_is_cheaper) {
    driven one(queued_claim::rules{.looks_first = true});
    EXPECT_THAT(one(one.claim.ask(false)), ElementsAre(kind::read));
    EXPECT_THAT(one.sees(from_outside(verdict::waits)), ElementsAre(kind::answer, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::answer).answer_is->is, claim_is::busy);
}

TEST(queued_claim_test, waits_a_moment_for_claims_of_its_own_client_to_leave) {
    driven one(queued_claim::rules{.looks_first = true});
    one(one.claim.ask(false));
    queued_claim::line_view view = from_outside(verdict::waits);
    view.only_leavers = true;
    EXPECT_THAT(one.sees(view, start), ElementsAre(kind::linger));
    EXPECT_THAT(one(one.claim.retry()), ElementsAre(kind::read));
    EXPECT_THAT(one.sees(view, start + std::chrono::seconds{1}), ElementsAre(kind::linger));
    one(one.claim.retry());
    EXPECT_THAT(one.sees(view, start + std::chrono::seconds{3}),
                ElementsAre(kind::answer, kind::unwatch, kind::forget));
}

TEST(queued_claim_test, who_stops_queueing_leaves_the_line_before_it_is_told_busy) {
    driven one;
    one.wait();
    one(one.claim.ask(false));
    EXPECT_THAT(one.sees(standing_as(verdict::waits)), ElementsAre(kind::remove));
    EXPECT_THAT(one(one.claim.removed(one.ticket, {.was_there = true})),
                ElementsAre(kind::answer, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::answer).answer_is->is, claim_is::busy);
}

TEST(queued_claim_test, another_kind_is_refused_once_its_entry_has_gone) {
    driven one(queued_claim::rules{.capacity = 3});
    one.enter();
    queued_claim::line_view view = standing_as(verdict::other_kind);
    view.verdict.capacity = 1;
    EXPECT_THAT(one.sees(view), ElementsAre(kind::remove));
    one(one.claim.removed(one.ticket, {.was_there = true}));
    EXPECT_EQ(one.the(kind::answer).answer_is->reason, errc::kind_mismatch);
}

TEST(queued_claim_test, who_cannot_be_granted_any_more_while_it_waits_is_lost) {
    driven one(queued_claim::rules{.replaces = true});
    one.wait();
    one(one.claim.woken());
    EXPECT_THAT(one.sees(standing_as(verdict::lost)), ElementsAre(kind::old_stays, kind::remove));
    EXPECT_THAT(one(one.claim.removed(one.ticket, {.was_there = true})),
                ElementsAre(kind::lost, kind::old_stays, kind::unwatch, kind::forget));
}

TEST(queued_claim_test, is_stamped_and_confirmed_before_it_counts) {
    driven one(queued_claim::rules{.confirms = true});
    one.enter();
    queued_claim::line_view view = standing_as(verdict::holds);
    view.verdict.to_be_stamped = true;
    EXPECT_THAT(one.sees(view), ElementsAre(kind::stamp));
    EXPECT_THAT(one(one.claim.changed(one.ticket)), ElementsAre(kind::read));
    EXPECT_THAT(one.sees(view), ElementsAre(kind::stamp));
    EXPECT_THAT(one(one.claim.stamped(one.ticket, 12)), ElementsAre(kind::confirm));
    one(one.claim.confirmed(one.ticket));
    EXPECT_EQ(one.the(kind::answer).answer_is->grant.counter, 12u);
}

TEST(queued_claim_test, describes_who_holds_for_whoever_asks_only) {
    driven one(queued_claim::rules{.describes = true});
    one.enter();
    EXPECT_THAT(one.sees(standing_as(verdict::waits)), ElementsAre(kind::watch, kind::describe));
    EXPECT_THAT(one(one.claim.described(one.ticket, {.place = 3})), ElementsAre(kind::answer));
    EXPECT_EQ(one.the(kind::answer).answer_is->standing.place, 3u);
    one(one.claim.woken());
    EXPECT_THAT(one.sees(standing_as(verdict::waits)), ElementsAre(kind::watch));
}

TEST(queued_claim_test, takes_the_place_of_a_hold) {
    driven old;
    driven one(queued_claim::rules{.replaces = true});
    old.hold();
    one.enter();
    EXPECT_THAT(one.sees(standing_as(verdict::may_exchange)), ElementsAre(kind::exchange));
    old.claim.yield();
    EXPECT_THAT(old(old.claim.vanished()), IsEmpty());  // it may have become the other one
    EXPECT_THAT(one(one.claim.exchanged(one.ticket, 20)),
                ElementsAre(kind::old_gone, kind::unwatch, kind::watch_hold, kind::answer));
    EXPECT_THAT(old(old.claim.replaced()), ElementsAre(kind::unwatch, kind::forget));
}

TEST(queued_claim_test, a_hold_that_was_not_replaced_is_watched_again) {
    driven old;
    old.hold();
    old.claim.yield();
    EXPECT_TRUE(old.claim.holds());
    EXPECT_THAT(old(old.claim.not_replaced()), ElementsAre(kind::watch_hold));
    EXPECT_THAT(old(old.claim.vanished()), ElementsAre(kind::lost, kind::unwatch, kind::forget));
}

// Requests that are not answered.

TEST(queued_claim_test, an_entry_that_went_unanswered_is_made_harmless_by_the_release) {
    driven one;
    one.enter();
    EXPECT_THAT(one.fails(fate::unsure), ElementsAre(kind::answer));
    EXPECT_TRUE(one.claim.may_come_back());
    EXPECT_THAT(one(one.claim.ask(true)), ElementsAre(kind::enter));
    ASSERT_TRUE(one.claim.entry_sent(one.ticket));
    one.sees(standing_as(verdict::holds));
    one(one.claim.release());
    EXPECT_TRUE(one.the(kind::remove).late);
    one(one.claim.removed(one.ticket, {.was_there = true}));
    EXPECT_FALSE(one.claim.may_come_back());
    EXPECT_FALSE(one.claim.quiet());  // its key is not used again
}

TEST(queued_claim_test, a_claim_is_not_forgotten_while_something_of_it_may_arrive) {
    driven one;
    one.enter(false);
    one.fails(fate::unsure);
    one(one.claim.ask(false));
    ASSERT_TRUE(one.claim.entry_sent(one.ticket));
    EXPECT_THAT(one.sees(from_outside(verdict::waits)), ElementsAre(kind::answer, kind::unwatch));
    EXPECT_EQ(one.claim.is(), phase::over);
    EXPECT_THAT(one(one.claim.release()), ElementsAre(kind::unwatch, kind::remove));
    EXPECT_TRUE(one.the(kind::remove).late);
    EXPECT_THAT(one(one.claim.removed(one.ticket, {})), ElementsAre(kind::released, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::released).released_as, release_is::released);
}

TEST(queued_claim_test, the_end_of_its_lease_makes_late_requests_harmless) {
    driven one;
    one.enter(false);
    one.fails(fate::unsure);
    one(one.claim.ask(false));
    ASSERT_TRUE(one.claim.entry_sent(one.ticket));
    one.sees(from_outside(verdict::waits));
    EXPECT_THAT(one(one.claim.lease_over()), ElementsAre(kind::unwatch, kind::forget));
}

TEST(queued_claim_test, a_release_does_not_wait_for_what_is_under_way) {
    driven one;
    one.enter();
    const auto entry = one.ticket;
    EXPECT_THAT(one(one.claim.release()), ElementsAre(kind::answer, kind::unwatch, kind::remove));
    EXPECT_EQ(one.the(kind::answer).answer_is->reason, errc::cancelled);
    EXPECT_TRUE(one.the(kind::remove).late);
    EXPECT_THAT(one(one.claim.seen(entry, standing_as(verdict::holds), start)), IsEmpty());
    EXPECT_THAT(one(one.claim.removed(one.ticket, {.was_there = true})),
                ElementsAre(kind::released, kind::unwatch, kind::forget));
}

TEST(queued_claim_test, unless_the_store_is_ordered) {
    driven one(queued_claim::rules{.ordered = true});
    one.enter();
    EXPECT_THAT(one(one.claim.release()), ElementsAre(kind::answer, kind::unwatch));
    EXPECT_THAT(one.sees(standing_as(verdict::holds)), ElementsAre(kind::remove));
    EXPECT_FALSE(one.the(kind::remove).late);
}

TEST(queued_claim_test, an_ordered_store_is_read_to_learn_what_became_of_an_entry) {
    driven one(queued_claim::rules{.ordered = true});
    one.enter();
    one.fails(fate::unsure);
    EXPECT_THAT(one(one.claim.ask(true)), ElementsAre(kind::read));
    EXPECT_THAT(one.sees(from_outside(verdict::holds)), ElementsAre(kind::enter));
    EXPECT_FALSE(one.claim.may_come_back());
}

TEST(queued_claim_test, an_entry_that_is_released_before_it_is_sent_is_not_sent) {
    driven one;
    one(one.claim.ask(true));
    const auto entry = one.ticket;
    EXPECT_THAT(one(one.claim.release()),
                ElementsAre(kind::answer, kind::unwatch, kind::released, kind::unwatch, kind::forget));
    EXPECT_FALSE(one.claim.entry_sent(entry));
}

TEST(queued_claim_test, a_removal_that_is_repeated_is_known_as_ours) {
    driven one;
    one.hold();
    one(one.claim.release());
    EXPECT_THAT(one.fails(fate::unsure), ElementsAre(kind::released));
    EXPECT_EQ(one.the(kind::released).released_as, release_is::unknown);
    one(one.claim.release());
    EXPECT_TRUE(one.the(kind::remove).again);
    one(one.claim.removed(one.ticket, {.others = true}));
    EXPECT_EQ(one.the(kind::released).released_as, release_is::released);
}

// The store tries again by itself, once there is a connection: what came of it is there to be remembered.
TEST(queued_claim_test, a_removal_that_nobody_asks_for_again_yet_is_told_all_the_same) {
    driven one;
    one.hold();
    one(one.claim.release());
    EXPECT_THAT(one.fails(fate::unsure), ElementsAre(kind::released));
    EXPECT_THAT(one(one.claim.retry()), ElementsAre(kind::remove));
    EXPECT_THAT(one(one.claim.removed(one.ticket, {.others = false})),
                ElementsAre(kind::released, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::released).released_as, release_is::released);
}

TEST(queued_claim_test, unless_its_lease_has_ended) {
    driven one;
    one.hold();
    one(one.claim.release());
    one.fails(fate::unsure);
    one(one.claim.release());
    one(one.claim.removed(one.ticket, {.lease_over = true, .others = true}));
    EXPECT_EQ(one.the(kind::released).released_as, release_is::taken_over);
}

TEST(queued_claim_test, a_release_that_comes_too_late_says_whether_somebody_else_holds) {
    driven one;
    one.hold();
    one(one.claim.release());
    EXPECT_THAT(one(one.claim.removed(one.ticket, {})), ElementsAre(kind::read));
    one.sees({.others = false});
    EXPECT_EQ(one.the(kind::released).released_as, release_is::expired);
}

TEST(queued_claim_test, a_hold_that_the_store_ends_is_removed_and_then_released_as_expired) {
    driven one;
    one.hold();
    EXPECT_THAT(one(one.claim.expire()), ElementsAre(kind::unwatch, kind::remove));
    EXPECT_TRUE(one.claim.expired());
    EXPECT_THAT(one(one.claim.release()), IsEmpty());
    EXPECT_THAT(one(one.claim.removed(one.ticket, {.was_there = true, .others = false})),
                ElementsAre(kind::released, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::released).released_as, release_is::expired);
}

TEST(queued_claim_test, nobody_releases_it_so_it_tries_again_by_itself) {
    driven one;
    one.hold();
    one(one.claim.expire());
    EXPECT_THAT(one.fails(fate::unsure), ElementsAre(kind::retry));
    EXPECT_THAT(one(one.claim.retry()), ElementsAre(kind::remove));
}

TEST(queued_claim_test, the_end_of_a_lease_is_the_loss_of_what_is_held_or_waited_for) {
    driven held;
    held.hold();
    EXPECT_THAT(held(held.claim.lease_over()), ElementsAre(kind::lost, kind::unwatch, kind::forget));
    driven waiting;
    waiting.wait();
    EXPECT_THAT(waiting(waiting.claim.lease_over()), ElementsAre(kind::lost, kind::unwatch, kind::forget));
    driven asking;
    asking.enter();
    EXPECT_THAT(asking(asking.claim.lease_over()), IsEmpty());  // its request says so too
    EXPECT_THAT(asking.fails(fate::lease_over), ElementsAre(kind::answer));
    EXPECT_THAT(asking(asking.claim.ask(true)), ElementsAre(kind::enter));
}

TEST(queued_claim_test, a_refusal_is_final) {
    driven one;
    one.enter();
    EXPECT_THAT(one.fails(fate::not_done, denied()), ElementsAre(kind::answer, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::answer).answer_is->reason, errc::denied);
}

TEST(queued_claim_test, a_refusal_is_told_even_if_its_lease_cannot_be_ended) {
    driven one(queued_claim::rules{.ends_own_lease = true});
    one.enter();
    EXPECT_THAT(one.fails(fate::not_done, denied()), ElementsAre(kind::remove));
    EXPECT_THAT(one.fails(fate::unsure), ElementsAre(kind::answer, kind::unwatch, kind::forget));
    EXPECT_EQ(one.the(kind::answer).answer_is->reason, errc::denied);
}

TEST(queued_claim_test, a_read_that_nobody_waits_for_is_repeated) {
    driven one;
    one.wait();
    one(one.claim.woken());
    EXPECT_THAT(one.fails(fate::not_done), ElementsAre(kind::retry));
    EXPECT_THAT(one(one.claim.retry()), ElementsAre(kind::read));
}

TEST(queued_claim_test, a_claim_of_another_client_is_released_by_its_id) {
    driven ordered(queued_claim::of_another({.ordered = true}));
    EXPECT_THAT(ordered(ordered.claim.release()), ElementsAre(kind::unwatch, kind::read));
    EXPECT_THAT(ordered.sees(standing_as(verdict::holds)), ElementsAre(kind::remove));
    driven other(queued_claim::of_another({}));
    EXPECT_THAT(other(other.claim.release()), ElementsAre(kind::unwatch, kind::remove));
    other(other.claim.removed(other.ticket, {.others = true}));
    EXPECT_EQ(other.the(kind::released).released_as, release_is::taken_over);
}

TEST(queued_claim_test, whoever_asks_after_a_release_is_cancelled) {
    driven one;
    one.hold();
    one(one.claim.release());
    EXPECT_THAT(one(one.claim.ask(true)), ElementsAre(kind::answer));
    EXPECT_EQ(one.the(kind::answer).answer_is->reason, errc::cancelled);
}

}  // namespace
}  // namespace mortise::base::queued_claim_tests
