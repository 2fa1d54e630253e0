// Releases and lists that nobody waits for: one answer each, where callbacks run, whatever becomes of the store.
#include "fleet.hpp"
#include "support/children.hpp"

#include <mortise/error.hpp>

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// What a release was answered.
class started_release {
public:
    explicit started_release(hold& h) { h.start_release(taker()); }
    started_release(client& by, const std::string& name, const claim_id& id) { by.start_release(name, id, taker()); }

    int answers() const { return mine_->answers; }
    release_result result() const { return mine_->result; }
    std::error_code reason() const { return mine_->reason; }

private:
    struct state {
        int answers = 0;
        release_result result{};
        std::error_code reason;
    };
    release_completion taker() {
        return [mine = mine_](release_result result, std::error_code reason) {
            ++mine->answers;
            mine->result = result;
            mine->reason = reason;
        };
    }
    std::shared_ptr<state> mine_ = std::make_shared<state>();
};

class list_of {
public:
    explicit list_of(client& by) {
        by.start_list([mine = mine_](std::vector<held_lock> all, std::error_code reason) {
            ++mine->answers;
            mine->all = std::move(all);
            mine->reason = reason;
        });
    }
    int answers() const { return mine_->answers; }
    const std::vector<held_lock>& all() const { return mine_->all; }
    std::error_code reason() const { return mine_->reason; }

private:
    struct state {
        int answers = 0;
        std::vector<held_lock> all;
        std::error_code reason;
    };
    std::shared_ptr<state> mine_ = std::make_shared<state>();
};

class start : public ::testing::Test {
protected:
    static client_options patient() { return {.release_wait = 1s, .close_wait = {}}; }

    fleet world;
    member mine = world.join(patient());
    member other = world.join();
};

TEST_F(start, a_release_is_answered_once_and_only_where_callbacks_run) {
    hold held = mine.locks.acquire("job");
    const started_release left{held};
    EXPECT_FALSE(held);
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(world.free("job")) << "the store knows, though nobody was told yet";
    EXPECT_EQ(left.answers(), 0);
    world.settle();
    EXPECT_EQ(left.answers(), 1);
    EXPECT_EQ(left.result(), release_result::released);
    EXPECT_FALSE(left.reason());
    world.advance(1h);
    EXPECT_EQ(left.answers(), 1);
    EXPECT_EQ(mine.seen->count(event_kind::released), 1u);
}

TEST_F(start, a_release_passes_the_lock_to_the_next_of_this_process) {
    hold held = mine.locks.acquire("job");
    call next(mine.locks, "job");
    const started_release left{held};
    world.settle();
    EXPECT_TRUE(next.granted());
    EXPECT_EQ(left.result(), release_result::released);
}

TEST_F(start, the_handle_may_go_before_the_answer) {
    std::optional<started_release> left;
    {
        hold held = mine.locks.acquire("job");
        mine.net->freeze();
        left.emplace(held);
    }
    world.settle();
    EXPECT_EQ(left->answers(), 0);
    mine.net->thaw();
    world.settle();
    EXPECT_EQ(left->answers(), 1);
    EXPECT_EQ(left->result(), release_result::released);
    EXPECT_TRUE(world.empty());
}

TEST_F(start, a_release_that_the_store_does_not_answer_is_unknown_and_goes_on) {
    hold held = mine.locks.acquire("job");
    mine.net->freeze();
    const started_release left{held};
    const started_release again{held};
    world.advance(1s - 1ns);
    EXPECT_EQ(left.answers(), 0);
    EXPECT_EQ(again.reason(), errc::busy) << "the first is under way";
    world.advance(1ns);
    EXPECT_EQ(left.answers(), 1);
    EXPECT_EQ(left.result(), release_result::unknown);
    EXPECT_EQ(left.reason(), errc::unreachable);
    mine.net->thaw();
    world.advance(5s);
    EXPECT_TRUE(world.empty());
    EXPECT_EQ(left.answers(), 1);
}

TEST_F(start, a_release_of_a_hold_that_was_lost_says_so) {
    hold held = mine.locks.acquire("job");
    mine.net->fail(verb::renew, fault_plan::for_ever);
    world.advance(1min);
    const hold next = other.locks.acquire("job");
    const started_release left{held};
    world.settle();
    EXPECT_EQ(left.result(), release_result::taken_over);
}

TEST_F(start, a_release_of_nothing_is_answered_too) {
    hold none;
    const started_release left{none};
    EXPECT_EQ(left.answers(), 1);
    EXPECT_EQ(left.result(), release_result::unknown);
    EXPECT_EQ(left.reason(), errc::not_owner);
    EXPECT_THROW(none.start_release(nullptr), error);
}

TEST_F(start, a_detached_claim_is_released_by_its_id) {
    claim_id id;
    {
        const hold held = mine.locks.acquire("job", {.kept_by = kept_by::lease});
        id = held.id();
    }
    EXPECT_FALSE(world.empty());
    const started_release left{other.locks, "job", id};
    const started_release nameless{other.locks, "", id};
    world.settle();
    EXPECT_EQ(left.result(), release_result::released);
    EXPECT_EQ(nameless.reason(), errc::invalid_name);
    EXPECT_TRUE(world.empty());
}

TEST_F(start, a_list_shows_who_holds_what) {
    const hold held = other.locks.acquire("job", {.label = "nightly"});
    const list_of seen{mine.locks};
    EXPECT_EQ(seen.answers(), 0);
    world.settle();
    ASSERT_EQ(seen.all().size(), 1u);
    EXPECT_EQ(seen.all().front().name, "job");
    EXPECT_EQ(seen.all().front().holder.label, "nightly");
    EXPECT_THROW(mine.locks.start_list(nullptr), error);
}

TEST_F(start, a_list_that_the_store_does_not_answer_ends_when_patience_does) {
    mine.net->freeze();
    const list_of seen{mine.locks};
    world.advance(10s - 1ns);
    EXPECT_EQ(seen.answers(), 0);
    world.advance(1ns);
    EXPECT_EQ(seen.answers(), 1);
    EXPECT_EQ(seen.reason(), errc::unreachable);
    mine.net->thaw();
    world.settle();
    EXPECT_EQ(seen.answers(), 1);
}

TEST_F(start, the_end_of_the_client_answers_what_is_open) {
    std::optional<member> brief = world.join(patient());
    hold held = brief->locks.acquire("job");
    brief->net->freeze();
    const started_release left{held};
    const list_of seen{brief->locks};
    brief.reset();
    world.settle();
    EXPECT_EQ(left.answers(), 1);
    EXPECT_EQ(left.result(), release_result::unknown);
    EXPECT_EQ(left.reason(), errc::closed);
    EXPECT_EQ(seen.answers(), 1);
    EXPECT_EQ(seen.reason(), errc::closed);

    const started_release again{held};
    world.settle();
    EXPECT_EQ(again.answers(), 1);
}

TEST(start_after_fork, answers_forked_on_the_thread_at_hand) {
    client locks{"memory:"};
    hold held = locks.acquire("job");
    child orphan([&] {
        const started_release left{held};
        const list_of seen{locks};
        return left.reason() == errc::forked && seen.reason() == errc::forked ? 0 : 1;
    });
    EXPECT_EQ(orphan.wait(), 0);
    EXPECT_TRUE(held.valid());
}

}  // namespace
}  // namespace mortise::testing
