// Several names as one, on simulated time: deadlines, losses, and who is told what.
#include "core/fleet.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<multi_lock> && !std::is_move_constructible_v<multi_lock>);
static_assert(!std::is_copy_constructible_v<multi_hold> && std::is_nothrow_move_constructible_v<multi_hold>);

class together : public ::testing::Test {
protected:
    bool is_free(const std::string& name) { return world.free(name); }
    void break_hold(const hold& of) {
        ASSERT_TRUE(world.table().break_hold(of.name(), of.token().counter()));
        world.settle();
    }

    fleet world;
    member mine = world.join();
    member other = world.join();
    multi_lock abc{mine.locks, {"c", "a", "b"}};
};

TEST_F(together, names_are_sorted_and_taken_once) {
    const std::vector<std::string> given{"b", "a", "b", "", "a"};
    EXPECT_THROW((multi_lock{mine.locks, given}), error);
    const std::vector<std::string> fine{"b", "a", "b", "a b", "a"};
    multi_lock some{mine.locks, fine};
    EXPECT_EQ(some.names(), (std::vector<std::string>{"a", "a b", "b"}));
    const multi_hold held = some.acquire();
    ASSERT_EQ(held.holds().size(), 3u);
    EXPECT_EQ(held.holds()[1].name(), "a b");
    world.settle();
    EXPECT_EQ(mine.seen->count(event_kind::claimed), 3u);
}

TEST_F(together, all_are_held_with_a_token_each_and_given_back) {
    multi_hold held = abc.acquire();
    EXPECT_TRUE(held);
    EXPECT_TRUE(held.valid());
    for (const char* name : {"a", "b", "c"}) {
        EXPECT_EQ(held.at(name).name(), name);
        EXPECT_GT(held.at(name).token(), token{});
        EXPECT_FALSE(is_free(name));
    }
    EXPECT_THROW(static_cast<void>(held.at("d")), error);
    EXPECT_EQ(held.valid_until(), held.at("a").valid_until());
    EXPECT_EQ(held.release(), release_result::released);
    EXPECT_EQ(held.release(), release_result::released) << "and again";
    EXPECT_FALSE(held);
    EXPECT_FALSE(held.valid());
    EXPECT_FALSE(held.lost().stop_requested());
    EXPECT_TRUE(world.empty());
}

TEST_F(together, an_empty_handle_holds_nothing) {
    multi_hold none;
    std::error_code ec;
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.valid());
    EXPECT_EQ(none.remaining(), 0ns);
    EXPECT_EQ(none.valid_until(), boot_clock::time_point::min());
    EXPECT_TRUE(none.holds().empty());
    EXPECT_EQ(none.release(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::not_owner);
    none.on_lost([] {});
    EXPECT_THROW(static_cast<void>(none.at("a")), error);

    none = abc.acquire();
    multi_hold moved = std::move(none);
    EXPECT_TRUE(moved.valid());
    moved = multi_hold{};
    EXPECT_TRUE(world.empty());
}

TEST_F(together, if_one_is_taken_none_is_held_and_the_answer_names_it) {
    const hold theirs = other.locks.acquire("b", {.label = "nightly"});
    const multi_attempt got = abc.try_acquire();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.reason(), errc::busy);
    EXPECT_EQ(got.in_the_way(), "b");
    ASSERT_TRUE(got.refusal().holder);
    EXPECT_EQ(got.refusal().holder->label, "nightly");
    EXPECT_TRUE(is_free("a"));
    EXPECT_TRUE(is_free("c"));

    EXPECT_FALSE(abc.try_lock());
    std::error_code ec;
    EXPECT_FALSE(abc.try_lock(ec));
    EXPECT_FALSE(ec);
    multi_lock kind{mine.locks, {"a", "semaphore"}};
    call permit(other.locks, claim{.name = "semaphore", .capacity = 3});
    world.settle();
    try {
        kind.lock();
        ADD_FAILURE() << "locked what is no mutex";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::kind_mismatch);
        EXPECT_NE(std::string(e.what()).find("'semaphore'"), std::string::npos) << e.what();
    }
    EXPECT_TRUE(is_free("a"));
}

// A caller on a thread of its own; the test moves time.
template <class Call>
class caller {
public:
    explicit caller(Call work)
        : thread_([this, work = std::move(work)] {
              work();
              done_ = true;
          }) {}
    bool done() const { return done_; }
    bool ends(fleet& world) {
        return eventually([&] {
            world.settle();
            return done();
        });
    }

private:
    std::atomic<bool> done_{false};
    std::jthread thread_;
};

TEST_F(together, one_deadline_counts_for_all) {
    hold a = other.locks.acquire("a");
    const hold b = other.locks.acquire("b");
    std::optional<multi_attempt> got;
    caller waits{[&] { got.emplace(abc.try_acquire_for(10s)); }};
    ASSERT_TRUE(eventually([&] { return world.waiting("a") == 1; }));
    world.advance(6s);
    a.release();
    ASSERT_TRUE(eventually([&] { return world.waiting("b") == 1; }));
    EXPECT_FALSE(is_free("a")) << "held during the wait for the next";
    world.advance(4s - 1ns);
    EXPECT_FALSE(waits.done()) << "the second wait has what the first left";
    world.advance(1ns);
    ASSERT_TRUE(waits.ends(world));
    EXPECT_EQ(got->reason(), errc::timed_out);
    EXPECT_EQ(got->in_the_way(), "b");
    EXPECT_TRUE(is_free("a"));
    EXPECT_TRUE(is_free("c"));
    EXPECT_EQ(world.waiting("b"), 0u);
}

TEST_F(together, a_cancelled_wait_leaves_nothing_behind) {
    const hold b = other.locks.acquire("b");
    std::stop_source stop;
    multi_lock stoppable{mine.locks, {"a", "b"}, {.stop = stop.get_token()}};
    std::optional<multi_attempt> got;
    caller waits{[&] { got.emplace(stoppable.try_acquire_for(1h)); }};
    ASSERT_TRUE(eventually([&] { return world.waiting("b") == 1; }));
    stop.request_stop();
    ASSERT_TRUE(waits.ends(world));
    EXPECT_EQ(got->reason(), errc::cancelled);
    EXPECT_EQ(got->in_the_way(), "b");
    EXPECT_TRUE(is_free("a"));
    EXPECT_EQ(world.waiting("b"), 0u);
}

TEST_F(together, a_loss_during_the_wait_ends_it) {
    const hold b = other.locks.acquire("b");
    std::optional<multi_attempt> got;
    caller waits{[&] { got.emplace(abc.try_acquire_for(1h)); }};
    ASSERT_TRUE(eventually([&] { return world.waiting("b") == 1; }));
    for (const spi::listed& one : world.table().list())
        if (one.name == "a") world.table().break_hold("a", one.holder.token.counter());
    ASSERT_TRUE(waits.ends(world));
    EXPECT_EQ(got->reason(), errc::lost);
    EXPECT_EQ(got->in_the_way(), "a");
    EXPECT_EQ(world.waiting("b"), 0u);
}

TEST_F(together, if_one_is_lost_all_are_released_and_the_owner_is_told_once) {
    multi_hold held = abc.acquire();
    const std::stop_token lost = held.lost();
    int told = 0;
    bool free_when_told = false;
    held.on_lost([&] {
        ++told;
        free_when_told = is_free("a") && is_free("c");
    });
    held.on_lost([&] {
        ++told;
        throw 1;
    });
    held.on_lost([&] { ++told; });
    held.on_lost({});
    break_hold(held.at("b"));

    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.remaining(), 0ns);
    EXPECT_TRUE(lost.stop_requested());
    EXPECT_EQ(told, 3);
    EXPECT_TRUE(free_when_told) << "so that a callback may lock them anew";
    EXPECT_TRUE(is_free("a") && is_free("b") && is_free("c"));
    held.on_lost([&] { told += 10; });  // too late to wait for: called at once
    world.settle();
    EXPECT_EQ(told, 13);
    EXPECT_NE(held.release(), release_result::released);
    EXPECT_FALSE(held);
}

TEST_F(together, if_one_is_lost_valid_is_false_before_anybody_was_told) {
    const multi_hold held = abc.acquire();
    ASSERT_TRUE(world.table().break_hold("b", held.at("b").token().counter()));
    EXPECT_FALSE(held.at("b").valid());
    EXPECT_TRUE(held.at("a").valid());
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.remaining(), 0ns);
}

TEST_F(together, after_a_pause_valid_is_false_before_any_timer_has_run) {
    const multi_hold held = abc.acquire();
    world.clock().jump(held.remaining() - 1ns);
    EXPECT_TRUE(held.valid());
    world.clock().jump(1ns);
    EXPECT_FALSE(held.valid());
    EXPECT_FALSE(held.lost().stop_requested());  // best effort: nobody has been scheduled yet
    world.settle();
    EXPECT_TRUE(held.lost().stop_requested());
}

TEST_F(together, behind_a_frozen_store_all_are_lost_at_the_deadline) {
    multi_hold held = abc.acquire();
    int told = 0;
    held.on_lost([&] { ++told; });
    mine.net->freeze();
    world.advance(30s);
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(is_free("a") && is_free("b") && is_free("c"));
    std::error_code ec;
    EXPECT_EQ(held.release(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::unreachable);
}

TEST_F(together, a_release_in_time_tells_nobody_of_a_loss) {
    multi_hold held = abc.acquire();
    const std::stop_token lost = held.lost();
    int told = 0;
    held.on_lost([&] { ++told; });
    EXPECT_EQ(held.release(), release_result::released);
    held.on_lost([&] { ++told; });
    world.advance(5min);
    EXPECT_EQ(told, 0);
    EXPECT_FALSE(lost.stop_requested());
}

TEST_F(together, a_handle_may_be_dropped_by_its_own_callback) {
    auto held = std::make_unique<multi_hold>(abc.acquire());
    int told = 0;
    held->on_lost([&] {
        ++told;
        held.reset();
    });
    held->on_lost([&] { told += 10; });
    break_hold(held->at("c"));
    EXPECT_EQ(held, nullptr);
    EXPECT_EQ(told, 1) << "the rest is not begun after a release";
    EXPECT_TRUE(world.empty());
}

TEST_F(together, the_mutex_form_hears_of_a_loss_too) {
    abc.lock();
    EXPECT_TRUE(abc.hold().valid());
    break_hold(abc.hold().at("a"));
    EXPECT_FALSE(abc.hold().valid());
    std::error_code ec;
    abc.lock(ec);
    EXPECT_EQ(ec, errc::lost) << "unlock what was locked first";
    abc.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
    EXPECT_THROW(static_cast<void>(abc.hold()), error);
    EXPECT_TRUE(abc.try_lock());
    abc.unlock(ec);
    EXPECT_FALSE(ec);
    abc.unlock(ec);
    EXPECT_EQ(ec, errc::not_owner);
}

TEST_F(together, a_thread_never_waits_for_itself) {
    mutex b{mine.locks, "b"};
    recursive_mutex again{mine.locks, "c"};
    std::error_code ec;
    for (const bool multi_first : {true, false}) {
        if (multi_first) {
            std::scoped_lock guard{abc};
            EXPECT_FALSE(b.try_lock());
            EXPECT_FALSE(b.try_lock_for(1h));
            b.lock(ec);
            EXPECT_EQ(ec, errc::would_deadlock);
            again.lock(ec);
            EXPECT_EQ(ec, errc::would_deadlock);
            multi_lock overlapping{mine.locks, {"0", "c"}};
            overlapping.lock(ec);
            EXPECT_EQ(ec, errc::would_deadlock);
            EXPECT_TRUE(is_free("0"));
            EXPECT_TRUE(abc.hold().valid());
        } else {
            std::scoped_lock guard{b};
            EXPECT_FALSE(abc.try_lock_for(1h));
            abc.lock(ec);
            EXPECT_EQ(ec, errc::would_deadlock);
            EXPECT_TRUE(b.hold().valid());
            EXPECT_TRUE(is_free("a"));
        }
    }
    EXPECT_TRUE(world.empty());
    EXPECT_TRUE(b.try_lock()) << "no frame is left behind";
    b.unlock();
}

TEST_F(together, an_object_that_goes_away_releases_what_it_locked) {
    {
        multi_lock brief{mine.locks, {"a", "b"}};
        brief.lock();
        EXPECT_FALSE(is_free("a"));
    }
    EXPECT_TRUE(world.empty());
    EXPECT_TRUE(abc.try_lock());
    abc.unlock();
}

TEST_F(together, several_clients_are_one_lock) {
    // Stores given as objects have no address: here one store is seen as two.
    multi_lock mixed{{{other.locks, "x"}, {mine.locks, "y"}, {mine.locks, "y"}}};
    EXPECT_EQ(mixed.names(), (std::vector<std::string>{"x", "y"}));
    multi_hold held = mixed.acquire();
    EXPECT_EQ(&held.at(other.locks, "x"), &held.at("x"));
    EXPECT_THROW(static_cast<void>(held.at(other.locks, "z")), error);
    int told = 0;
    held.on_lost([&] { ++told; });
    mine.net->freeze();
    world.advance(30s);
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(is_free("x")) << "its own store is well, but it is of no use alone";
}

TEST_F(together, what_was_taken_is_given_back_also_if_it_is_detached) {
    const hold c = other.locks.acquire("c");
    multi_lock detached{mine.locks, {"a", "b", "c"}, {.kept_by = kept_by::lease}};
    EXPECT_EQ(detached.try_acquire().in_the_way(), "c");
    EXPECT_TRUE(is_free("a") && is_free("b"));
    { const multi_hold kept = multi_lock{mine.locks, {"a", "b"}, {.kept_by = kept_by::lease}}.acquire(); }
    EXPECT_FALSE(is_free("a") || is_free("b")) << "destroying the handle leaves them";
}

TEST_F(together, a_closed_client_answers_so) {
    multi_hold held;
    multi_lock both{mine.locks, {"a", "b"}};
    held = both.acquire();
    { const client gone = std::move(mine.locks); }
    EXPECT_FALSE(held.valid());
    EXPECT_FALSE(held);
    std::error_code ec;
    EXPECT_EQ(held.release(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::closed);
    EXPECT_FALSE(both.acquire(ec));
    EXPECT_EQ(ec, errc::closed);
    EXPECT_THROW(both.lock(), error);
    EXPECT_TRUE(is_free("a") && is_free("b"));
}

TEST(together_after_fork, all_verbs_answer_forked_and_touch_nothing) {
    client locks{"memory:together-fork"};
    multi_lock both{locks, {"a", "b"}};
    multi_lock more{locks, {"c", "d"}};
    multi_hold held = both.acquire();
    more.lock();
    child forked{[&] {
        std::error_code ec;
        if (held.valid() || held || held.release(ec) != release_result::unknown || ec != errc::forked) return 1;
        if (both.try_acquire().reason() != errc::forked) return 2;
        both.lock(ec);
        if (ec != errc::forked) return 3;
        more.unlock(ec);
        if (ec != errc::forked) return 4;
        { const multi_hold dropped = std::move(held); }
        try {
            static_cast<void>(more.hold());
            return 5;
        } catch (const error& e) {
            return e.code() == errc::forked ? 0 : 6;
        }
    }};
    EXPECT_EQ(forked.wait(), 0);
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(more.hold().valid());
    more.unlock();
}

}  // namespace
}  // namespace mortise::testing
