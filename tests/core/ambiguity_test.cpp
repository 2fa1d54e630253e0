// Requests and replies that get lost, late or doubled: the repeat gets the same answer, and nothing stays behind.
#include "fleet.hpp"

#include <mortise/error.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class ambiguity : public ::testing::Test {
protected:
    // The store's own view of who holds a name.
    std::uint64_t counter_at_the_store(const std::string& name) {
        for (const spi::listed& one : world.table().list())
            if (one.name == name) return one.holder.token.counter();
        return 0;
    }

    fleet world;
    member mine = world.join();
    member other = world.join();
};

TEST_F(ambiguity, a_claim_whose_reply_was_lost_is_repeated_with_the_same_id_and_gets_the_same_grant) {
    mine.net->lose_replies(verb::claim);
    call wanted(mine.locks, "job");
    world.settle();
    EXPECT_FALSE(wanted.answered());
    const auto granted_as = counter_at_the_store("job");
    EXPECT_NE(granted_as, 0u);
    EXPECT_EQ(other.locks.try_acquire("job").reason(), errc::busy);  // no second holder meanwhile

    world.advance(1s);
    ASSERT_TRUE(wanted.granted());
    EXPECT_EQ(wanted.hold().token(), token::of(granted_as, 0));
    EXPECT_EQ(mine.net->calls(verb::claim), 2u);
    EXPECT_EQ(mine.net->ids(verb::claim), 1u);
    EXPECT_EQ(mine.seen->story("job"), "claimed retried granted");
    // Counted from before the store can have granted, not from the repeat.
    EXPECT_EQ(wanted.hold().valid_until(), sim_clock::default_start + 30s - 302ms);

    EXPECT_EQ(wanted.hold().release(), release_result::released);
    EXPECT_TRUE(world.empty());
    EXPECT_TRUE(world.free("job"));
}

TEST_F(ambiguity, every_way_to_lose_a_claim_ends_in_one_grant_and_leaks_nothing) {
    const std::function<void(fault_plan&)> ways[] = {
        [](fault_plan& net) { net.lose_requests(verb::claim, 3); },
        [](fault_plan& net) { net.lose_replies(verb::claim, 3); },
        [](fault_plan& net) { net.fail(verb::claim, 3); },
        [](fault_plan& net) { net.fail_after(verb::claim, 3); },
        [](fault_plan& net) { net.duplicate(verb::claim, 3); },
        [](fault_plan& net) { net.delay(verb::claim, 700ms, 700ms); },  // slower than the first repeat
    };
    for (std::size_t i = 0; i < std::size(ways); ++i) {
        SCOPED_TRACE(i);
        member one = world.join();
        ways[i](*one.net);
        call wanted(one.locks, "job");
        world.advance(9s);
        ASSERT_TRUE(wanted.granted());
        EXPECT_EQ(wanted.answers(), 1);
        EXPECT_EQ(one.net->ids(verb::claim), 1u);
        EXPECT_EQ(wanted.hold().token().counter(), counter_at_the_store("job"));
        EXPECT_EQ(other.locks.try_acquire("job").reason(), errc::busy);
        EXPECT_EQ(wanted.hold().release(), release_result::released);
        EXPECT_TRUE(world.empty());
    }
}

TEST_F(ambiguity, a_lost_reply_does_not_refuse_a_claim_whose_lease_is_shorter_than_the_reply_timeout) {
    mine.net->lose_replies(verb::claim);
    call wanted(mine.locks, "job", {.lease = 200ms});
    world.advance(2s);  // the store's grant ended long before the repeat
    ASSERT_TRUE(wanted.answered());
    EXPECT_TRUE(wanted.granted()) << wanted.refusal().describe();
    EXPECT_TRUE(wanted.hold().valid());
}

TEST_F(ambiguity, a_lost_reply_in_the_queue_keeps_the_place) {
    hold held = other.locks.acquire("job");
    mine.net->lose_replies(verb::claim, 2);
    call early(mine.locks, "job");
    world.settle();
    member third = world.join();
    call late(third.locks, "job");
    world.advance(5s);
    EXPECT_EQ(world.waiting("job"), 2u);

    held.release();
    world.settle();
    EXPECT_TRUE(early.granted());
    EXPECT_FALSE(late.answered());
    EXPECT_EQ(mine.net->ids(verb::claim), 1u);
}

TEST_F(ambiguity, a_grant_that_is_not_answered_costs_the_place_and_that_is_told) {
    hold held = other.locks.acquire("job");
    call early(mine.locks, "job", {.lease = 2s});
    world.settle();
    mine.net->freeze();  // as if its process stood still
    held.release();
    world.advance(3s);
    member third = world.join();
    const call late(third.locks, "job");
    world.settle();
    EXPECT_TRUE(late.granted());
    mine.net->thaw();
    world.advance(10s);
    EXPECT_FALSE(early.answered());
    EXPECT_TRUE(std::ranges::any_of(mine.seen->events("job"), [](const event& one) {
        return one.kind == event_kind::retried && one.reason == errc::lost;
    })) << mine.seen->story("job");
    EXPECT_EQ(world.waiting("job"), 1u);
}

TEST_F(ambiguity, a_renewal_without_an_answer_is_repeated_fast_and_keeps_the_hold) {
    const std::function<void(fault_plan&)> ways[] = {
        [](fault_plan& net) { net.lose_requests(verb::renew); }, [](fault_plan& net) { net.lose_replies(verb::renew); },
        [](fault_plan& net) { net.fail(verb::renew); },          [](fault_plan& net) { net.fail_after(verb::renew); },
        [](fault_plan& net) { net.duplicate(verb::renew); },
    };
    for (std::size_t i = 0; i < std::size(ways); ++i) {
        SCOPED_TRACE(i);
        member one = world.join();
        hold held = one.locks.acquire("job");
        const token before = held.token();
        ways[i](*one.net);
        world.advance(13s);  // due at 10 s, repeated at 13 s
        EXPECT_GE(held.remaining(), 26s);
        world.advance(1min);
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(held.token(), before);
        EXPECT_EQ(one.net->ids(verb::renew), 1u);
        EXPECT_EQ(one.seen->count(event_kind::lost), 0u);
        EXPECT_EQ(held.release(), release_result::released);
        EXPECT_TRUE(world.empty());
    }
}

TEST_F(ambiguity, a_renewal_counts_from_before_it_was_sent_however_late_its_reply) {
    const hold held = mine.locks.acquire("job");
    mine.net->delay(verb::renew, 1s, 1s);
    world.advance(12s);
    EXPECT_EQ(held.valid_until(), sim_clock::default_start + 10s + 30s - 302ms);
}

TEST_F(ambiguity, a_release_whose_reply_was_lost_is_unknown_repeated_and_harms_no_successor) {
    hold held = mine.locks.acquire("job");
    mine.net->lose_replies(verb::release);
    std::error_code ec;
    EXPECT_EQ(held.release(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::unreachable);

    const hold next = other.locks.acquire("job");  // it had been done
    world.advance(5s);                             // the repeat comes by
    EXPECT_EQ(mine.net->calls(verb::release), 2u);
    EXPECT_EQ(mine.net->ids(verb::release), 1u);
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(counter_at_the_store("job"), next.token().counter());
    EXPECT_EQ(mine.seen->count(event_kind::retried), 1u);
}

TEST_F(ambiguity, a_release_that_never_arrived_is_repeated_until_it_does) {
    hold held = mine.locks.acquire("job");
    mine.net->lose_requests(verb::release, 2);
    EXPECT_EQ(held.release(), release_result::unknown);
    EXPECT_FALSE(held.valid());
    EXPECT_FALSE(world.empty());
    world.advance(4s);  // after one second, then after two more
    EXPECT_TRUE(world.empty());
    EXPECT_EQ(mine.net->calls(verb::release), 3u);
    world.advance(1min);
    EXPECT_EQ(mine.net->calls(verb::release), 3u);  // answered: no more
}

TEST_F(ambiguity, every_other_way_to_lose_a_release_frees_the_lock_too) {
    const std::function<void(fault_plan&)> ways[] = {
        [](fault_plan& net) { net.fail(verb::release, 3); },
        [](fault_plan& net) { net.fail_after(verb::release, 3); },
        [](fault_plan& net) { net.duplicate(verb::release); },
        [](fault_plan& net) { net.delay(verb::release, 1500ms, 1500ms); },
    };
    for (std::size_t i = 0; i < std::size(ways); ++i) {
        SCOPED_TRACE(i);
        member one = world.join();
        hold held = one.locks.acquire("job");
        ways[i](*one.net);
        held.release();
        world.advance(10s);
        EXPECT_TRUE(world.empty());
        EXPECT_TRUE(world.free("job"));
        EXPECT_EQ(one.net->ids(verb::release), 1u);
    }
}

TEST_F(ambiguity, a_release_that_failed_on_the_way_is_repeated_without_waiting_for_an_answer) {
    hold held = mine.locks.acquire("job");
    mine.net->fail(verb::release, 3);
    held.release();
    world.advance(100ms);  // after 10, 20 and 40 ms; an answer would be waited for a second
    EXPECT_EQ(mine.net->calls(verb::release), 4u);
    EXPECT_EQ(mine.net->ids(verb::release), 1u);
    EXPECT_TRUE(world.free("job"));
}

// A store whose claims live as long as the client, like those of a session.
class session_store final : public spi::store_wrapper {
public:
    using store_wrapper::store_wrapper;
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>&) const noexcept override {
        return std::nullopt;
    }
};

TEST_F(ambiguity, a_release_is_repeated_for_as_long_as_the_store_may_keep_the_claim) {
    const auto net = std::make_shared<fault_plan>();
    const spi::store_factory inner = stores::memory::open(world.shared_table());
    const spi::store_factory session = [inner](const spi::context& outer) {
        return std::make_unique<session_store>(outer, inner);
    };
    client locks = spi::make_client(faulty(session, net), world.sim().world(), fleet::quick());
    hold held = locks.acquire("job", {.lease = 2s});
    net->lose_requests(verb::release, fault_plan::for_ever);
    held.release();
    world.advance(10min);
    EXPECT_GE(net->calls(verb::release), 300u) << "every two seconds";
    EXPECT_EQ(net->arrived(verb::release), 0u);
    net->heal();
    world.advance(2s);
    EXPECT_EQ(net->arrived(verb::release), 1u);
    const auto calls = net->calls(verb::release);
    world.advance(10min);
    EXPECT_EQ(net->calls(verb::release), calls) << "it was answered";
}

TEST_F(ambiguity, a_request_that_arrives_after_its_repeat_was_answered_busy_holds_nothing) {
    hold held = other.locks.acquire("job");
    mine.net->delay(verb::claim, 3s);
    call tried(mine.locks, "job", {.wait = 0s});
    mine.net->delay(verb::claim, 0s);
    world.advance(1s);
    EXPECT_EQ(tried.reason(), errc::busy);
    held.release();
    world.advance(5s);
    EXPECT_EQ(mine.net->arrived(verb::claim), 2u);
    EXPECT_TRUE(world.empty());
    EXPECT_TRUE(world.free("job"));
}

TEST_F(ambiguity, a_request_that_arrives_after_its_repeat_was_refused_holds_nothing) {
    claim permits{.name = "job", .capacity = 3, .options = {.wait = 0s}};
    hold held = other.locks.acquire("job");
    mine.net->delay(verb::claim, 3s);
    call tried(mine.locks, permits);
    mine.net->delay(verb::claim, 0s);
    mine.net->fail(verb::claim, 2);
    world.advance(1500ms);
    EXPECT_EQ(tried.reason(), errc::kind_mismatch);
    held.release();
    world.advance(5s);
    EXPECT_TRUE(world.empty());
}

TEST_F(ambiguity, a_claim_whose_requests_were_all_answered_is_not_released_when_it_was_busy) {
    const hold held = other.locks.acquire("job");
    EXPECT_EQ(mine.locks.try_acquire("job").reason(), errc::busy);
    world.advance(1min);
    EXPECT_EQ(mine.net->calls(verb::release), 0u);
}

TEST_F(ambiguity, a_release_is_not_repeated_beyond_the_lease) {
    hold held = mine.locks.acquire("job");
    mine.net->lose_requests(verb::release, fault_plan::for_ever);
    held.release();
    world.advance(30s);
    const auto calls = mine.net->calls(verb::release);
    EXPECT_GT(calls, 3u);
    EXPECT_TRUE(world.empty());  // the lease did it
    world.advance(10min);
    EXPECT_EQ(mine.net->calls(verb::release), calls);
}

TEST_F(ambiguity, a_lost_push_costs_time_but_never_the_lock) {
    hold held = other.locks.acquire("job");
    call wanted(mine.locks, "job", {.renew = renew::off});
    world.settle();
    mine.net->lose_pushes();
    world.advance(1s);
    const auto granted_at = world.clock().now();
    held.release();
    world.settle();
    EXPECT_FALSE(wanted.answered());

    world.advance(11s);  // a third of the lease, and a little so that a crowd does not come in step
    ASSERT_TRUE(wanted.granted());
    EXPECT_LE(wanted.hold().valid_until(), granted_at + 30s - 302ms);
    EXPECT_EQ(mine.net->ids(verb::claim), 1u);
}

TEST_F(ambiguity, the_head_of_the_line_looks_when_the_holders_lease_ends) {
    mine.net->lose_pushes(fault_plan::for_ever);
    const hold held = other.locks.acquire("job", {.lease = 4s, .renew = renew::off});
    call wanted(mine.locks, "job");
    world.advance(5s);  // 4 s, and at most 1 s of jitter
    EXPECT_TRUE(wanted.granted());
}

TEST_F(ambiguity, a_doubled_push_is_one_grant) {
    hold held = other.locks.acquire("job");
    call wanted(mine.locks, "job");
    world.settle();
    mine.net->duplicate(verb::push);
    held.release();
    world.advance(1s);
    EXPECT_EQ(mine.net->arrived(verb::push), 2u);
    ASSERT_TRUE(wanted.granted());
    EXPECT_EQ(wanted.answers(), 1);
    EXPECT_TRUE(wanted.hold().valid());
    EXPECT_EQ(wanted.hold().token().counter(), counter_at_the_store("job"));
    EXPECT_EQ(mine.net->calls(verb::release), 0u);
}

TEST_F(ambiguity, a_grant_pushed_for_a_cancelled_claim_is_given_back) {
    hold held = other.locks.acquire("job");
    std::stop_source stop;
    call wanted(mine.locks, "job", {.stop = stop.get_token()});
    world.settle();
    mine.net->delay(verb::push, 500ms);
    mine.net->lose_requests(verb::release);  // so that the store still believes in the waiter
    stop.request_stop();
    held.release();
    world.settle();
    EXPECT_EQ(wanted.reason(), errc::cancelled);
    EXPECT_FALSE(world.empty());  // granted to somebody who has left

    world.advance(500ms);
    EXPECT_TRUE(world.empty());
    EXPECT_EQ(wanted.answers(), 1);
    EXPECT_TRUE(world.free("job"));
}

TEST_F(ambiguity, a_claim_that_arrives_after_its_release_is_not_granted) {
    std::stop_source stop;
    mine.net->delay(verb::claim, 500ms);
    call wanted(mine.locks, "job", {.stop = stop.get_token()});
    stop.request_stop();  // the release overtakes the claim
    world.settle();
    EXPECT_EQ(wanted.reason(), errc::cancelled);
    EXPECT_EQ(mine.net->arrived(verb::release), 1u);
    EXPECT_EQ(mine.net->arrived(verb::claim), 0u);

    world.advance(500ms);
    EXPECT_EQ(mine.net->arrived(verb::claim), 1u);
    EXPECT_TRUE(world.empty());
    EXPECT_TRUE(world.free("job"));
}

TEST_F(ambiguity, a_store_dead_for_the_whole_patience_is_unreachable_and_its_late_grant_is_given_back) {
    mine.net->freeze();
    call wanted(mine.locks, "job");
    world.advance(9s);
    EXPECT_FALSE(wanted.answered());
    world.advance(1s);
    EXPECT_EQ(wanted.reason(), errc::unreachable);
    EXPECT_NE(wanted.refusal().describe().find("job"), std::string::npos);

    mine.net->thaw();
    world.settle();
    EXPECT_GT(mine.net->arrived(verb::claim), 0u);
    EXPECT_TRUE(world.empty());
    EXPECT_TRUE(world.free("job"));
    EXPECT_EQ(wanted.answers(), 1);
}

TEST_F(ambiguity, a_yes_that_arrives_after_the_caller_gave_up_is_given_back) {
    mine.net->delay(verb::claim, 0s, 5s);
    mine.net->lose_requests(verb::release, 3);  // at 0.5, 1.5 and 3.5 s; the next would be at 5.5 s
    call wanted(mine.locks, "job", {.wait = 500ms});
    world.advance(4999ms);
    EXPECT_EQ(wanted.reason(), errc::unreachable);
    EXPECT_FALSE(world.empty());
    world.advance(1ms);
    EXPECT_TRUE(world.empty());
    EXPECT_EQ(wanted.answers(), 1);
}

TEST_F(ambiguity, a_wait_that_ends_is_timed_out_behind_a_holder_and_unreachable_behind_silence) {
    const hold held = other.locks.acquire("job");
    call behind(mine.locks, "job", {.wait = 2s});
    world.advance(2s);
    EXPECT_EQ(behind.reason(), errc::timed_out);
    ASSERT_TRUE(behind.refusal().holder);
    EXPECT_EQ(behind.refusal().holder->token, held.token());
    EXPECT_EQ(behind.refusal().place, 1u);

    mine.net->freeze();
    call silent(mine.locks, "else", {.wait = 2s});
    world.advance(2s);
    EXPECT_EQ(silent.reason(), errc::unreachable);
    EXPECT_FALSE(silent.refusal().holder);
}

// A busy machine runs the timer of a short wait long after it was due; that says nothing about the store.
TEST_F(ambiguity, a_short_wait_that_ends_late_is_timed_out_whatever_the_store_does) {
    mine.net->freeze();
    call brief(mine.locks, "job", {.wait = 300us});
    world.sim().pause(5s);
    EXPECT_EQ(brief.reason(), errc::timed_out);
}

TEST_F(ambiguity, a_waiter_stays_in_line_while_the_store_is_silent_for_less_than_the_patience) {
    hold held = other.locks.acquire("job");
    call wanted(mine.locks, "job");
    world.advance(5s);
    mine.net->freeze();
    world.advance(9s);
    mine.net->thaw();
    world.settle();
    EXPECT_FALSE(wanted.answered());
    held.release();
    world.settle();
    EXPECT_TRUE(wanted.granted());
}

TEST_F(ambiguity, a_waiter_notices_a_silent_store_within_twice_the_patience_however_long_its_lease) {
    const hold held = other.locks.acquire("job", {.lease = 24h});
    call wanted(mine.locks, "job", {.lease = 24h});
    world.advance(1s);
    EXPECT_FALSE(wanted.answered());
    mine.net->freeze();
    world.advance(20s);
    EXPECT_EQ(wanted.reason(), errc::unreachable);
}

TEST_F(ambiguity, a_reply_later_than_its_lease_is_never_a_late_yes) {
    client_options patient = fleet::quick();
    patient.patience = 5min;
    member slow = world.join(patient);
    slow.net->delay(verb::claim, 0s, 31s);
    bool was_valid = true;
    int grants = 0;
    slow.locks.start({.name = "job"}, [&](attempt got) {
        if (!got) return;
        ++grants;
        was_valid = got->valid();
    });
    world.advance(2min);
    EXPECT_EQ(grants, 0);

    slow.net->delay(verb::claim, 0s, 0s);
    world.advance(2s);
    EXPECT_EQ(grants, 1);
    EXPECT_TRUE(was_valid);
    world.advance(1min);
    EXPECT_TRUE(world.empty());  // the hold was dropped with its answer, and none of the others stayed
}

TEST_F(ambiguity, a_store_that_only_answers_too_late_is_unreachable_in_the_end) {
    mine.net->delay(verb::claim, 0s, 400ms);
    call wanted(mine.locks, "job", {.lease = 300ms});
    world.advance(1min);
    EXPECT_EQ(wanted.reason(), errc::unreachable);
    mine.net->heal();
    world.advance(1s);
    EXPECT_TRUE(world.empty());
}

}  // namespace
}  // namespace mortise::testing
