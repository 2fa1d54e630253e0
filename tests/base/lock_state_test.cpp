// One name, its holders and its queue, promise by promise.
#include "base/lock_state.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;
using spi::release_answer;
using spi::renewal_answer;
using verdict = spi::claim_answer::verdict;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

claim_id id(std::uint64_t n) {
    return {{n, 1}};
}

// A name and a clock that the test moves. Claims are known by small numbers.
class lock_state_test : public ::testing::Test {
protected:
    struct terms {
        std::uint32_t capacity = 1;
        std::uint32_t weight = 1;
        bool queue = true;
        std::uint64_t session = 1;
        bool detached = false;
        std::optional<spi::duration> lease = 30s;
    };

    base::verdict claim(std::uint64_t n, const terms& t) {
        told = {};
        return state.claim(
            {.id = id(n), .session = t.session, .weight = t.weight, .detached = t.detached, .lease = t.lease},
            t.capacity, t.queue, now, told);
    }
    base::verdict claim(std::uint64_t n) { return claim(n, terms{}); }
    release_answer release(std::uint64_t n, std::uint64_t by = 1) {
        told = {};
        return state.release(id(n), by, now, told);
    }
    renewal_answer renew(std::uint64_t n, spi::duration lease = 30s) {
        told = {};
        return state.renew(id(n), lease, now, told);
    }
    void pass(spi::duration by) { now.now += by; }

    std::vector<std::uint64_t> holders() const {
        std::vector<std::uint64_t> who;
        for (const kept_claim& held : state.holders()) who.push_back(held.id.bits[0]);
        return who;
    }
    std::vector<std::uint64_t> just_granted() const {
        std::vector<std::uint64_t> who;
        for (const auto& notice : told.granted) who.push_back(notice.id.bits[0]);
        return who;
    }
    std::uint64_t counter_of(std::size_t holder = 0) const { return state.holders()[holder].counter; }

    lock_state state;
    instant now{spi::time_point{1000s}, 5'000'000};
    effects told;
};

TEST_F(lock_state_test, a_free_name_is_granted_at_once) {
    const auto got = claim(1);
    EXPECT_EQ(got.is, verdict::granted);
    EXPECT_EQ(got.grant.counter, now.wall_us);
    EXPECT_EQ(got.grant.lease, 30s);
    EXPECT_EQ(got.grant.counted_from, now.now);
    EXPECT_THAT(holders(), ElementsAre(1));
}

TEST_F(lock_state_test, waiters_are_served_in_the_order_they_came) {
    claim(1);
    for (std::uint64_t n = 2; n <= 5; ++n) {
        const auto got = claim(n);
        EXPECT_EQ(got.is, verdict::queued);
        EXPECT_EQ(got.place, n - 1);
    }
    for (std::uint64_t n = 1; n <= 4; ++n) {
        EXPECT_EQ(release(n), release_answer::released);
        EXPECT_THAT(just_granted(), ElementsAre(n + 1));
        EXPECT_THAT(holders(), ElementsAre(n + 1));
    }
}

TEST_F(lock_state_test, one_that_does_not_queue_is_told_who_is_in_the_way) {
    claim(1);
    claim(2);
    const auto got = claim(3, {.queue = false});
    EXPECT_EQ(got.is, verdict::busy);
    ASSERT_TRUE(got.in_the_way);
    EXPECT_EQ(got.in_the_way->id, id(1));
    EXPECT_EQ(got.free_in, 30s);
    EXPECT_EQ(got.place, 2u) << "where it would have stood";
    EXPECT_EQ(state.waiting(), 1u);
}

TEST_F(lock_state_test, nobody_gets_in_past_the_line) {
    claim(1, {.capacity = 3, .weight = 2});
    claim(2, {.capacity = 3, .weight = 2});
    EXPECT_EQ(claim(3, {.capacity = 3}).is, verdict::queued) << "it would fit, but the big one came first";
    EXPECT_EQ(claim(4, {.capacity = 3, .queue = false}).is, verdict::busy);
    release(1);
    EXPECT_THAT(just_granted(), ElementsAre(2, 3));
}

TEST_F(lock_state_test, a_big_claim_that_leaves_the_head_lets_the_small_ones_in) {
    claim(1, {.capacity = 3, .weight = 1});
    claim(2, {.capacity = 3, .weight = 3});
    claim(3, {.capacity = 3, .weight = 1});
    claim(4, {.capacity = 3, .weight = 1});
    EXPECT_EQ(release(2), release_answer::released);
    EXPECT_THAT(just_granted(), ElementsAre(3, 4));
}

TEST_F(lock_state_test, leaving_the_middle_moves_up_those_behind) {
    claim(1);
    for (std::uint64_t n = 2; n <= 9; ++n) claim(n);
    for (const std::uint64_t n : {4, 6, 8}) EXPECT_EQ(release(n), release_answer::released);
    EXPECT_THAT(just_granted(), IsEmpty());
    EXPECT_EQ(state.waiting(), 5u);
    std::size_t place = 0;
    for (const std::uint64_t n : {2, 3, 5, 7, 9}) EXPECT_EQ(claim(n).place, ++place) << n;
    release(2);
    release(3);
    release(5);
    release(1);
    EXPECT_THAT(just_granted(), ElementsAre(7));
}

TEST_F(lock_state_test, a_capacity_that_differs_is_refused_while_the_name_is_in_use) {
    claim(1);
    const auto got = claim(2, {.capacity = 2});
    EXPECT_EQ(got.is, verdict::refused);
    EXPECT_EQ(got.reason, errc::kind_mismatch);
    release(1);
    EXPECT_EQ(claim(3, {.capacity = 2}).is, verdict::granted) << "free, so it may become another kind";
}

TEST_F(lock_state_test, a_repeated_claim_gets_the_same_answer) {
    const auto first = claim(1);
    pass(1s);
    const auto again = claim(1);
    EXPECT_EQ(again.is, verdict::granted);
    EXPECT_EQ(again.grant.counter, first.grant.counter);
    EXPECT_EQ(again.grant.counted_from, first.grant.counted_from) << "a repeat renews nothing";
    EXPECT_EQ(claim(2).place, 1u);
    EXPECT_EQ(claim(3).place, 2u);
    EXPECT_EQ(claim(2).place, 1u) << "a repeat does not move to the end";
    EXPECT_EQ(state.waiting(), 2u);
    EXPECT_EQ(claim(2, {.queue = false}).is, verdict::queued) << "nor does it leave";
}

TEST_F(lock_state_test, a_repeated_release_gets_the_same_answer) {
    claim(1);
    claim(2);
    EXPECT_EQ(release(1), release_answer::released);
    EXPECT_EQ(release(1), release_answer::released);
    EXPECT_THAT(holders(), ElementsAre(2)) << "the second one freed nothing";
    EXPECT_EQ(release(2), release_answer::released);
    EXPECT_EQ(release(1), release_answer::released);
}

TEST_F(lock_state_test, another_id_releases_nothing) {
    EXPECT_EQ(release(9), release_answer::expired);
    claim(1);
    claim(2);
    EXPECT_EQ(release(8), release_answer::taken_over);
    EXPECT_EQ(release(9), release_answer::expired) << "its first answer";
    EXPECT_THAT(holders(), ElementsAre(1));
    EXPECT_EQ(state.waiting(), 1u);
}

TEST_F(lock_state_test, a_claim_that_arrives_after_its_own_release_is_not_granted) {
    EXPECT_EQ(release(1), release_answer::expired);
    const auto late = claim(1);
    EXPECT_EQ(late.is, verdict::refused);
    EXPECT_EQ(late.reason, errc::cancelled);
    EXPECT_TRUE(state.idle());
    claim(2);
    release(2);
    EXPECT_EQ(claim(2).is, verdict::refused);
}

TEST_F(lock_state_test, a_lease_that_ended_lets_the_next_one_in) {
    claim(1, {.lease = 10s});
    claim(2);
    EXPECT_EQ(state.next_end(), now.now + 10s);
    pass(10s - 1ns);
    told = {};
    state.settle(now, told);
    EXPECT_THAT(just_granted(), IsEmpty());
    pass(1ns);
    state.settle(now, told);
    EXPECT_THAT(just_granted(), ElementsAre(2));
    EXPECT_EQ(told.granted[0].grant.counted_from, now.now);
    EXPECT_THAT(told.lost, IsEmpty()) << "its owner knows by the clock";
    EXPECT_EQ(release(1), release_answer::taken_over);
    release(2);
    EXPECT_EQ(release(1), release_answer::taken_over) << "the first answer, again";
}

TEST_F(lock_state_test, a_lease_that_ended_with_nobody_waiting_is_released_as_expired) {
    claim(1, {.lease = 10s});
    pass(11s);
    EXPECT_EQ(release(1), release_answer::expired);
    claim(2);
    EXPECT_EQ(release(1), release_answer::expired) << "the first answer, again";
}

TEST_F(lock_state_test, a_claim_without_a_lease_lasts) {
    claim(1, {.lease = std::nullopt});
    EXPECT_EQ(state.next_end(), spi::time_point::max());
    pass(24h * 365);
    EXPECT_EQ(claim(2, {.queue = false}).is, verdict::busy);
    EXPECT_EQ(renew(1, 1s), renewal_answer::renewed) << "and a renewal gives it none";
    pass(2s);
    EXPECT_EQ(claim(1).grant.lease, std::nullopt);
    EXPECT_LE(claim(1).grant.counted_from, now.now);
}

TEST_F(lock_state_test, renewal_starts_the_lease_anew) {
    claim(1, {.lease = 10s});
    pass(9s);
    EXPECT_EQ(renew(1, 10s), renewal_answer::renewed);
    EXPECT_EQ(state.next_end(), now.now + 10s);
    EXPECT_EQ(claim(1).grant.counted_from, now.now);
    pass(9s);
    EXPECT_THAT(holders(), ElementsAre(1));
}

TEST_F(lock_state_test, a_late_duplicate_of_a_renewal_never_shortens) {
    claim(1, {.lease = 30s});
    const auto end = state.next_end();
    EXPECT_EQ(renew(1, 5s), renewal_answer::renewed);
    EXPECT_EQ(state.next_end(), end);
    EXPECT_LE(claim(1).grant.counted_from, now.now) << "and the grant is not counted from the future";
}

TEST_F(lock_state_test, a_renewal_never_resurrects) {
    claim(1, {.lease = 10s});
    claim(2, {.lease = 10s});
    pass(10s);
    EXPECT_EQ(renew(1), renewal_answer::lost);
    EXPECT_THAT(just_granted(), ElementsAre(2));
    release(2);
    EXPECT_EQ(renew(1), renewal_answer::lost);
    EXPECT_EQ(renew(2), renewal_answer::lost) << "released";
    EXPECT_EQ(renew(3), renewal_answer::lost) << "never seen";
    EXPECT_TRUE(state.idle());
}

TEST_F(lock_state_test, breaking_takes_the_hold_tells_its_owner_and_raises_the_next_counter) {
    claim(1, {.session = 7});
    claim(2);
    const std::uint64_t broken = counter_of();
    told = {};
    EXPECT_FALSE(state.break_hold(broken + 1, now, told)) << "somebody else by now";
    EXPECT_TRUE(state.break_hold(broken, now, told));
    ASSERT_EQ(told.lost.size(), 1u);
    EXPECT_EQ(told.lost[0].id, id(1));
    EXPECT_EQ(told.lost[0].session, 7u);
    EXPECT_THAT(just_granted(), ElementsAre(2));
    EXPECT_GT(counter_of(), broken + 1);
    EXPECT_FALSE(state.break_hold(broken, now, told));
    EXPECT_EQ(renew(1), renewal_answer::lost);
    EXPECT_EQ(claim(1).is, verdict::refused) << "what was broken does not come back";
    EXPECT_EQ(release(1), release_answer::taken_over);
}

TEST_F(lock_state_test, a_session_that_goes_takes_its_claims_along_but_for_detached_holds) {
    const auto of = [](std::uint64_t session, bool detached) {
        return terms{.capacity = 3, .session = session, .detached = detached};
    };
    claim(1, of(1, false));
    claim(2, of(1, true));
    claim(3, of(2, false));
    claim(4, of(1, false));  // waits
    claim(5, of(2, false));  // waits
    told = {};
    state.drop_session(1, now, told);
    EXPECT_THAT(holders(), ::testing::UnorderedElementsAre(2, 3, 5));
    EXPECT_THAT(just_granted(), ElementsAre(5));
    EXPECT_EQ(state.waiting(), 0u);
    EXPECT_EQ(release(2), release_answer::released) << "by its id, from anywhere";
}

TEST_F(lock_state_test, counters_rise_also_when_the_wall_clock_goes_back) {
    std::uint64_t last = 0;
    for (const std::uint64_t wall : {5'000'000u, 5'000'001u, 1'000u, 0u, 5'000'001u, 5'000'002u, 9'000'000u}) {
        now.wall_us = wall;
        const std::uint64_t n = wall * 10 + last;  // any fresh id
        EXPECT_GT(claim(n).grant.counter, last);
        last = counter_of();
        release(n);
    }
    EXPECT_EQ(last, 9'000'000u) << "and catch up when it is right again";
}

TEST_F(lock_state_test, counters_start_above_the_floor) {
    lock_state later{8'000'000};
    EXPECT_EQ(later.claim({.id = id(1)}, 1, false, now, told).grant.counter, 8'000'001u);
}

TEST_F(lock_state_test, may_be_forgotten_once_idle_and_no_id_is_remembered) {
    EXPECT_TRUE(state.forgettable(now.now));
    claim(1);
    EXPECT_FALSE(state.forgettable(now.now + 24h)) << "held";
    release(1);
    EXPECT_TRUE(state.idle());
    EXPECT_FALSE(state.forgettable(now.now));
    EXPECT_FALSE(state.forgettable(now.now + ended_claim::remembered_for - 1ns));
    EXPECT_TRUE(state.forgettable(now.now + ended_claim::remembered_for));
}

TEST_F(lock_state_test, remembers_ended_ids_for_a_while_and_not_too_many) {
    claim(1);
    release(1);
    pass(ended_claim::remembered_for - 1ns);
    EXPECT_EQ(claim(1).is, verdict::refused);
    pass(1ns);
    EXPECT_EQ(release(1), release_answer::expired) << "a stranger by now";

    for (std::uint64_t n = 100; n < 100 + lock_state::most_remembered; ++n) {
        claim(n);
        release(n);
    }
    EXPECT_EQ(release(100), release_answer::released);
    claim(200);
    release(200);
    EXPECT_EQ(release(100), release_answer::expired) << "pushed out by the newest";
    EXPECT_EQ(release(200), release_answer::released);
}

TEST_F(lock_state_test, a_holder_released_by_somebody_else_is_told) {
    claim(1);
    EXPECT_EQ(release(1, 7), release_answer::released);
    ASSERT_EQ(told.lost.size(), 1u);
    EXPECT_EQ(told.lost[0].id, id(1));
    EXPECT_EQ(told.lost[0].session, 1u);
}

// As if it had been ended by somebody who did not come to remove it.
TEST_F(lock_state_test, a_hold_whose_word_has_ended_is_over) {
    const auto kept = state.claim({.id = id(1), .session = 1, .keeps = true}, 1, true, now, told);
    ASSERT_TRUE(kept.grant.word);
    claim(2);
    EXPECT_THAT(holders(), ElementsAre(1));
    end_word(*kept.grant.word, id(1));
    told = {};
    state.settle(now, told);
    EXPECT_THAT(holders(), ElementsAre(2));
    ASSERT_EQ(told.lost.size(), 1u);
    EXPECT_EQ(told.lost[0].id, id(1));
    EXPECT_EQ(release(1), release_answer::released);
}

// Found by id, not one by one, and still right when they come and go in any order.
TEST_F(lock_state_test, many_holders_of_one_name_come_and_go) {
    const terms permit{.capacity = 1000};
    for (std::uint64_t n = 1; n <= 1000; ++n) ASSERT_EQ(claim(n, permit).is, verdict::granted);
    pass(10s);
    for (std::uint64_t n = 1; n <= 1000; n += 2) EXPECT_EQ(renew(n), renewal_answer::renewed);
    pass(20s);
    for (std::uint64_t n = 1; n <= 1000; ++n)
        EXPECT_EQ(renew(n), n % 2 == 1 ? renewal_answer::renewed : renewal_answer::lost) << n;
    EXPECT_EQ(state.holders().size(), 500u);
    for (std::uint64_t n = 999; n > 20; n -= 2) EXPECT_EQ(release(n), release_answer::released);
    EXPECT_EQ(state.holders().size(), 10u);
    EXPECT_EQ(state.next_end(), now.now + 30s);
}

}  // namespace
}  // namespace mortise::base
