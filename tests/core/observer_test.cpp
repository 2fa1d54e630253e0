// What observers and callbacks see, and what they cannot do.
#include "fleet.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class observing : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
    member other = world.join();
};

TEST_F(observing, the_life_of_a_hold_is_told_in_order_and_with_its_fields) {
    hold blocking = other.locks.acquire("job");
    call wanted(mine.locks, "job");
    world.advance(2s);
    blocking.release();
    world.settle();
    ASSERT_TRUE(wanted.granted());
    world.advance(10s);
    wanted.hold().release();
    world.settle();

    EXPECT_EQ(mine.seen->story("job"), "claimed waited granted renewed released");
    const auto events = mine.seen->events("job");
    ASSERT_EQ(events.size(), 5u);
    const token mark = wanted.hold().token();
    EXPECT_EQ(events[0].at, sim_clock::default_start);
    EXPECT_EQ(events[0].token, token{});
    EXPECT_EQ(events[1].token, token{});
    EXPECT_EQ(events[2].took, 2s);  // from call to grant
    EXPECT_EQ(events[2].token, mark);
    EXPECT_EQ(events[3].token, mark);
    EXPECT_EQ(events[3].at, sim_clock::default_start + 12s);
    EXPECT_EQ(events[4].took, 10s);  // time held
    EXPECT_EQ(events[4].token, mark);
    for (const event& one : events) {
        EXPECT_FALSE(one.reason);
        EXPECT_EQ(one.dropped_before, 0u);
    }
}

TEST_F(observing, a_refusal_says_why_and_how_long_it_took) {
    const hold blocking = other.locks.acquire("job");
    static_cast<void>(mine.locks.try_acquire("job"));
    call bounded(mine.locks, "job", {.wait = 3s});
    world.advance(3s);
    EXPECT_EQ(mine.seen->story("job"), "claimed refused claimed waited refused");
    const auto events = mine.seen->events("job");
    EXPECT_EQ(events[1].reason, errc::busy);
    EXPECT_EQ(events[1].took, 0s);
    EXPECT_EQ(events[4].reason, errc::timed_out);
    EXPECT_EQ(events[4].took, 3s);
}

TEST_F(observing, requests_that_are_repeated_and_releases_without_an_answer_are_told) {
    mine.net->lose_replies(verb::claim, 2);
    call wanted(mine.locks, "job");
    world.advance(2s);
    mine.net->lose_replies(verb::release);
    wanted.hold().release();
    world.advance(1s);
    EXPECT_EQ(mine.seen->story("job"), "claimed retried retried granted released retried");
    const auto events = mine.seen->events("job");
    EXPECT_EQ(events[1].reason, errc::unreachable);
    EXPECT_EQ(events[4].reason, errc::unreachable);
}

TEST_F(observing, each_turn_of_a_hand_over_is_told) {
    hold first = mine.locks.acquire("job");
    call second(mine.locks, "job");
    first.release();
    world.settle();
    EXPECT_EQ(mine.seen->count(event_kind::granted), 2u);
    EXPECT_EQ(mine.seen->count(event_kind::released), 1u);
    EXPECT_EQ(second.hold().token().turn(), 1u);
}

TEST_F(observing, an_unlock_by_somebody_who_holds_nothing_is_told) {
    mortise::mutex door(mine.locks, "door");
    door.unlock();
    world.settle();
    ASSERT_EQ(mine.seen->story("door"), "released");
    EXPECT_EQ(mine.seen->events("door")[0].reason, errc::not_owner);
}

TEST_F(observing, every_kind_has_a_name_of_its_own) {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(event_kind::retried); ++i)
        names.push_back(to_string(static_cast<event_kind>(i)));
    std::ranges::sort(names);
    EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
    EXPECT_FALSE(names.front().empty());
}

TEST_F(observing, a_slow_observer_loses_events_which_are_counted_and_no_lock) {
    hold held = mine.locks.acquire("job");
    constexpr std::size_t room = 65'536;
    const std::size_t told = 2;  // claimed and granted wait already
    constexpr std::size_t extra = 1000;
    mortise::mutex door(mine.locks, "door");
    for (std::size_t i = told; i < room + extra; ++i) door.unlock();  // an event each; none is seen yet
    world.clock().advance(1h);                                        // nor are the renewals, which happen
    EXPECT_TRUE(held.valid());

    world.settle();
    EXPECT_EQ(mine.seen->events().size(), room);
    EXPECT_EQ(mine.seen->events().back().dropped_before, 0u);
    held.release();
    world.settle();
    ASSERT_EQ(mine.seen->events().size(), room + 1);
    EXPECT_EQ(mine.seen->events().back().kind, event_kind::released);
    EXPECT_EQ(mine.seen->events().back().dropped_before, extra + 360);
}

class throwing_observer final : public observer {
public:
    void on_event(const event&) override {
        ++calls;
        throw std::runtime_error("from an observer");
    }
    int calls = 0;
};

TEST_F(observing, an_observer_that_throws_is_harmless) {
    auto angry = std::make_shared<throwing_observer>();
    client_options options = fleet::quick();
    options.observer = angry;
    member one = world.join(options);
    hold held = one.locks.acquire("job");
    world.advance(1min);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_result::released);
    world.settle();
    EXPECT_EQ(angry->calls, 9);  // claimed, granted, six renewals, released
}

TEST_F(observing, an_on_lost_that_throws_is_harmless_to_the_next) {
    hold held = mine.locks.acquire("job");
    int told = 0;
    held.on_lost([&] {
        ++told;
        throw std::runtime_error("from on_lost");
    });
    held.on_lost([&] { ++told; });
    mine.net->freeze();
    world.advance(1min);
    EXPECT_EQ(told, 2);
    held.on_lost([&] {
        ++told;
        throw 42;
    });
    world.settle();
    EXPECT_EQ(told, 3);
}

TEST_F(observing, on_lost_may_release_and_lock_again) {
    hold held = mine.locks.acquire("job", {.renew = renew::off});
    std::optional<hold> anew;
    held.on_lost([&] {
        held.release();
        anew.emplace(mine.locks.acquire("job"));
    });
    world.advance(30s);
    ASSERT_TRUE(anew);
    EXPECT_TRUE(anew->valid());
    EXPECT_GT(anew->token(), held.token());
}

TEST_F(observing, a_client_without_an_observer_is_silent) {
    client quiet = spi::make_client(spi::factory_of("memory:quiet"), world.sim().world(), fleet::quick());
    static_cast<void>(quiet.acquire("job"));
    EXPECT_EQ(world.sim().notifier().pending(), 0u);
}

}  // namespace
}  // namespace mortise::testing
