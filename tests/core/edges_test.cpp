// Where callbacks, ids and destructors meet: each of these once hung, leaked, or let somebody in.
#include "core/fleet.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>
#include <mortise/fenced.hpp>

#include <atomic>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class edges : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
    member other = world.join();
    const claim_options brief{.lease = 1s, .renew = renew::off};
    const claim_options detached{.kept_by = kept_by::lease};
};

TEST_F(edges, the_id_of_a_claim_that_changes_hands_is_not_shown) {
    hold first = mine.locks.acquire("job");
    call second(mine.locks, "job");
    EXPECT_EQ(first.id(), claim_id{});
    first.release();
    world.settle();
    ASSERT_TRUE(second.granted());
    std::error_code ec;
    other.locks.release("job", first.id(), ec);
    EXPECT_TRUE(second.hold().valid());
    EXPECT_FALSE(world.free("job"));
}

TEST_F(edges, a_detached_hold_that_somebody_else_releases_is_lost_at_once) {
    const hold held = mine.locks.acquire("job", detached);
    std::error_code ec;
    EXPECT_EQ(other.locks.release("job", held.id(), ec), release_result::released);
    EXPECT_FALSE(held.valid());
    world.settle();
    EXPECT_EQ(mine.seen->count(event_kind::lost, "job"), 1u);
}

TEST_F(edges, a_detached_hold_released_by_its_id_is_released_for_its_owner_too) {
    hold held = mine.locks.acquire("job", detached);
    std::error_code ec;
    EXPECT_EQ(mine.locks.release("job", held.id(), ec), release_result::released);
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.release(), release_result::released);
}

TEST_F(edges, a_stop_callback_may_release_what_was_lost) {
    hold held = mine.locks.acquire("job", brief);
    const std::stop_callback on_loss{held.lost(), [&] { held.release(); }};
    world.clock().advance(2s);                   // lost, and nobody told yet
    EXPECT_FALSE(held.lost().stop_requested());  // asking again must not run the callback under a lock
    world.settle();
    EXPECT_FALSE(held);
}

TEST_F(edges, a_callback_may_own_another_hold) {
    // Names enough to meet in every shard; the callbacks die with the release that never called them.
    for (int i = 0; i < 64; ++i) {
        hold held = mine.locks.acquire("job");
        auto more = std::make_shared<hold>(mine.locks.acquire("more " + std::to_string(i)));
        held.on_lost([more = std::move(more)] {});
        held.release();
    }
    EXPECT_TRUE(world.empty());
}

TEST_F(edges, callbacks_that_are_left_when_the_hold_is_released_are_not_begun) {
    hold held = mine.locks.acquire("job", brief);
    bool second = false;
    held.on_lost([&] { held.release(); });
    held.on_lost([&] { second = true; });
    world.advance(2s);
    EXPECT_FALSE(second);
}

TEST_F(edges, empty_callables_are_refused_or_ignored) {
    EXPECT_THROW(mine.locks.start({.name = "job"}, {}), error);
    hold held = mine.locks.acquire("job", brief);
    held.on_lost({});
    world.advance(2s);
    EXPECT_FALSE(held.valid());
}

TEST_F(edges, a_completion_that_throws_harms_nobody) {
    mine.locks.start({.name = "job"}, [](const attempt&) { throw 1; });
    call next(mine.locks, "job");
    world.settle();
    EXPECT_TRUE(next.granted());
}

TEST_F(edges, a_lost_hold_that_outlives_its_client_answers_closed_at_once) {
    std::optional<hold> left;
    {
        client brief_life =
            spi::make_client(stores::memory::open(stores::memory::make_table(world.sim().world().clock)),
                             world.sim().world(), {.release_wait = 1h});
        left.emplace(brief_life.acquire("job", brief));
        world.advance(2s);
    }
    std::error_code ec;
    EXPECT_EQ(left->release(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::closed);
}

// Real threads from here on.

TEST(edges_of_a_client, destroyed_in_a_callback_still_answers_every_call) {
    std::atomic<int> answers{0};
    auto locks = std::make_shared<client>("memory:edges");
    const hold held = locks->acquire("job");
    for (int i = 0; i < 10; ++i) locks->start({.name = "job"}, [&](const attempt&) { ++answers; });
    locks->start({.name = "free"}, [&answers, owner = locks](const attempt&) mutable {
        owner.reset();
        ++answers;
    });
    locks.reset();
    EXPECT_TRUE(eventually([&] { return answers == 11; }));
}

TEST(edges_of_a_client, a_claim_that_arrives_after_its_client_left_is_not_granted) {
    struct deaf final : spi::events {
        void granted(std::string_view, const claim_id&, const spi::grant&) override {}
        void lost(std::string_view, const claim_id&) override {}
    } events;
    sim_clock clock;
    const auto gone = spi::factory_of("memory:gone")(spi::context{clock, events, "host", 1});
    client locks{"memory:gone"};  // keeps the table
    gone->close();
    std::optional<spi::claim_answer> said;
    gone->claim({.name = "job", .id = claim_id::random(), .lease = 1h},
                [&](spi::claim_answer a) { said = std::move(a); });
    ASSERT_TRUE(said);
    EXPECT_EQ(said->is, spi::claim_answer::verdict::refused);
    EXPECT_TRUE(locks.try_acquire("job"));
}

TEST(edges_of_a_register, no_token_is_no_right_to_write) {
    fenced::register_of<int> stock{7};
    EXPECT_FALSE(stock.seal({}));
    EXPECT_FALSE(stock.read({}));
    EXPECT_FALSE(stock.write({}, 8));
    EXPECT_EQ(stock.peek(), 7);
}

}  // namespace
}  // namespace mortise::testing
