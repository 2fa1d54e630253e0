// P2, P8: a lease frees the lock of a holder that is silent, and renewal keeps the lock of one that is not.
#include "conformance/suite.hpp"
#include "support/recording_observer.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class leases : public store_suite {
protected:
    void SetUp() override {
        client asked = make_client();
        if (asked.promises().leases) return;
        const attempt got = asked.try_acquire("n", silent);
        EXPECT_EQ(got.reason(), errc::unsupported) << "a lease that is not promised is refused by name";
        GTEST_SKIP() << "this store has no leases";
    }

    const claim_options silent{.lease = 400ms, .renew = renew::off};
};
EVERY_STORE(leases);

TEST_P(leases, a_silent_holder_loses_the_lock_to_the_next_with_a_larger_token) {
    client locks = make_client();
    client others = make_client();
    hold mine = locks.acquire("n", silent);
    attempt theirs = others.try_acquire("n", {.wait = plenty});
    const bool still_believed = mine.valid();
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_FALSE(still_believed) << "two held it at the same time";
    expect_later(token_of(*theirs), token_of(mine));

    EXPECT_EQ(mine.release(), release_result::taken_over);
    EXPECT_TRUE(theirs->valid()) << "a late release must not free the successor's lock";
    EXPECT_EQ(theirs->release(), release_result::released);
    EXPECT_EQ(mine.release(), release_result::taken_over) << "the first answer, again";
}

TEST_P(leases, a_lease_that_ended_with_nobody_waiting_is_released_as_expired) {
    client locks = make_client();
    hold mine = locks.acquire("n", silent);
    EXPECT_TRUE(eventually([&] { return !mine.valid(); }));
    EXPECT_EQ(mine.remaining(), 0ns);
    EXPECT_EQ(mine.valid_until(), boot_clock::time_point::min());
    EXPECT_EQ(mine.release(), release_result::expired);
    EXPECT_EQ(mine.release(), release_result::expired);
    EXPECT_TRUE(locks.try_acquire("n", {.wait = plenty}));
}

TEST_P(leases, the_loss_is_told_in_every_way) {
    const auto seen = std::make_shared<recording_observer>();
    client locks = make_client({.observer = seen});
    hold mine = locks.acquire("n", silent);
    const std::stop_token stop = mine.lost();
    std::atomic<int> calls = 0;
    mine.on_lost([&] { ++calls; });
    EXPECT_TRUE(eventually([&] { return stop.stop_requested() && calls == 1; }));
    EXPECT_FALSE(mine.valid());
    EXPECT_TRUE(seen->wait_for(event_kind::lost, 1, plenty));
    EXPECT_EQ(seen->count(event_kind::renewed), 0u) << "renew::off renews nothing";
}

// A machine that stands still for a lease's length loses the hold rightly; a longer lease must then do.
TEST_P(leases, renewal_keeps_a_hold_past_its_lease) {
    client others = make_client();
    for (auto lease = short_lease();; lease *= 3) {
        const auto seen = std::make_shared<recording_observer>();
        client locks = make_client({.observer = seen});
        const hold mine = locks.acquire("n", {.lease = lease});
        const auto token_before = token_of(mine);
        const auto twice_over = boot_clock::now() + 2 * lease + 100ms;
        bool kept = true;
        while (kept && boot_clock::now() < twice_over) {
            kept = mine.valid() && !others.try_acquire("n");
            std::this_thread::sleep_for(50ms);
        }
        kept = kept && seen->count(event_kind::lost) == 0;
        if (!kept && lease < plenty / 2) continue;
        EXPECT_TRUE(kept) << seen->story("n");
        EXPECT_EQ(token_of(mine), token_before);
        EXPECT_GE(seen->count(event_kind::renewed), 2u);
        return;
    }
}

TEST_P(leases, a_clients_lease_serves_claims_that_name_none) {
    const auto longest = make_client().promises().longest_lease.value_or(2h);
    client locks = make_client({.lease = longest / 2});
    const hold by_client = locks.acquire("by client");
    EXPECT_GT(by_client.remaining(), longest / 4);
    EXPECT_LE(by_client.remaining(), longest / 2);
    const hold by_claim = locks.acquire("by claim", {.lease = longest});
    EXPECT_GT(by_claim.remaining(), longest / 2);
}

TEST_P(leases, that_are_too_long_are_cut_if_renewed_and_refused_if_not) {
    client locks = make_client();
    const auto longest = locks.promises().longest_lease;
    if (!longest) return;
    const hold cut = locks.acquire("n", {.lease = *longest * 3});
    EXPECT_LE(cut.remaining(), *longest);
    const attempt refused = locks.try_acquire("m", {.lease = *longest * 3, .renew = renew::off});
    EXPECT_EQ(refused.reason(), errc::unsupported);
    EXPECT_NE(refused.refusal().detail.find("renew::off"), std::string::npos) << refused.refusal().detail;
    EXPECT_TRUE(locks.try_acquire("m", {.lease = *longest, .renew = renew::off}));
}

// The same through the kinds, whose hold nobody holds in hand.
class leased_locks : public lock_suite {};
EVERY_STORE_AND_KIND(leased_locks);

TEST_P(leased_locks, a_lost_lock_is_told_at_unlock_and_can_be_taken_anew) {
    client locks = make_client();
    if (!locks.promises().leases) GTEST_SKIP() << "this store has no leases";
    client others = make_client();
    const auto mine = make_lock(locks, "n", {.lease = 400ms, .renew = renew::off});
    const auto theirs = make_lock(others, "n");
    mine->lock();
    const token first = token_of(mine->hold());
    ASSERT_TRUE(theirs->try_lock_for(plenty));
    EXPECT_FALSE(mine->hold().valid());

    // P11: nesting on a lock that is no longer there is refused, not counted.
    std::error_code ec;
    mine->lock(ec);
    EXPECT_EQ(ec, errc::lost);
    mine->unlock(ec);
    EXPECT_EQ(ec, errc::lost);
    EXPECT_TRUE(theirs->hold().valid());
    EXPECT_FALSE(mine->try_lock());
    theirs->unlock();
    ASSERT_TRUE(mine->try_lock_for(plenty));
    expect_later(token_of(mine->hold()), first);
}

TEST_P(leased_locks, a_lock_of_a_destroyed_client_is_free_at_once) {
    client others = make_client();
    auto locks = std::make_unique<client>(make_client());
    const auto mine = make_lock(*locks, "n");
    const auto theirs = make_lock(others, "n");
    mine->lock();
    ASSERT_FALSE(theirs->try_lock());
    locks.reset();
    EXPECT_TRUE(theirs->try_lock_for(plenty)) << "it would be free by lease only after 30 s";
    std::error_code ec;
    mine->unlock(ec);
    EXPECT_EQ(ec, errc::closed);
    mine->lock(ec);
    EXPECT_EQ(ec, errc::closed);
}

}  // namespace
}  // namespace mortise::testing
