// Elections on simulated time: when a leader steps down, and who hears of it.
#include "core/fleet.hpp"
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <mortise/election.hpp>
#include <mortise/error.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<election> && !std::is_move_constructible_v<election>);

class elections : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
    member other = world.join();
    election ann{mine.locks, "scheduler", {.label = "ann"}};
    election bob{other.locks, "scheduler", {.label = "bob"}};
};

TEST_F(elections, one_leads_the_others_see_who) {
    EXPECT_FALSE(ann.leader());
    EXPECT_FALSE(ann.is_leader());
    ASSERT_TRUE(ann.try_campaign());
    EXPECT_TRUE(ann.is_leader());
    EXPECT_FALSE(bob.try_campaign());
    EXPECT_FALSE(bob.is_leader());
    world.advance(5s);
    for (const election* asks : {&ann, &bob}) {
        const auto leads = asks->leader();
        ASSERT_TRUE(leads);
        EXPECT_EQ(leads->label, "ann");
        EXPECT_EQ(leads->pid, ::getpid());
        EXPECT_FALSE(leads->host.empty());
        EXPECT_EQ(leads->token, ann.term());
        EXPECT_EQ(leads->held_for, 5s);
    }
    EXPECT_EQ(world.waiting("scheduler"), 0u) << "asking is not campaigning";
}

TEST_F(elections, terms_rise_and_resigning_lets_the_next_one_in) {
    ann.campaign();
    const token first = ann.term();
    EXPECT_EQ(ann.resign(), release_result::released);
    EXPECT_FALSE(ann.is_leader());
    EXPECT_FALSE(bob.leader());
    bob.campaign();
    EXPECT_GT(bob.term(), first);
    EXPECT_EQ(bob.leader()->label, "bob");
    std::error_code ec;
    EXPECT_EQ(ann.resign(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::not_owner);
    EXPECT_TRUE(bob.is_leader()) << "nobody resigns for another";
}

TEST_F(elections, candidates_of_one_client_do_not_share_a_term) {
    election second{mine.locks, "scheduler", {.label = "ann"}};
    ann.campaign();
    const token first = ann.term();
    EXPECT_FALSE(second.try_campaign());
    call in_line(other.locks, "scheduler");
    ann.resign();
    world.settle();
    EXPECT_TRUE(in_line.granted());
    in_line.forget();
    second.campaign();
    EXPECT_GT(second.term().counter(), first.counter()) << "a grant of the store for every term";
    EXPECT_EQ(second.term(), second.leader()->token);
}

TEST_F(elections, a_leader_that_leads_is_elected_already) {
    ann.campaign();
    const token term = ann.term();
    ann.campaign();
    EXPECT_TRUE(ann.try_campaign());
    EXPECT_TRUE(ann.try_campaign_for(1h));
    EXPECT_EQ(ann.term(), term);
}

TEST_F(elections, a_leader_that_is_cut_off_steps_down_before_the_next_one_leads) {
    ann.campaign();
    const std::stop_token lost = ann.lost();
    int told = 0;
    ann.on_lost([&] { ++told; });
    const token first = ann.term();
    mine.net->freeze();
    world.advance(ann.leader_until() - world.clock().now() - 1ns);
    EXPECT_TRUE(ann.is_leader());
    EXPECT_FALSE(bob.try_campaign());
    world.advance(1ns);
    EXPECT_FALSE(ann.is_leader());
    EXPECT_EQ(ann.leader_until(), boot_clock::time_point::min());
    EXPECT_TRUE(lost.stop_requested());
    EXPECT_EQ(told, 1);
    EXPECT_FALSE(bob.try_campaign()) << "the margin: nobody leads";
    world.advance(1s);
    ASSERT_TRUE(bob.try_campaign());
    EXPECT_GT(bob.term(), first);

    mine.net->thaw();
    EXPECT_FALSE(ann.try_campaign());
    EXPECT_THROW(static_cast<void>(ann.term()), error) << "the old term is put away";
    bob.resign();
    EXPECT_TRUE(ann.try_campaign()) << "it may run again";
    EXPECT_EQ(told, 1);
}

TEST_F(elections, after_a_pause_the_leader_knows_before_any_timer_has_run) {
    ann.campaign();
    world.clock().jump(ann.leader_until() - world.clock().now() - 1ns);
    EXPECT_TRUE(ann.is_leader());
    world.clock().jump(1ns);
    EXPECT_FALSE(ann.is_leader());
    EXPECT_FALSE(ann.lost().stop_requested());  // best effort: nobody has been scheduled yet
    world.settle();
    EXPECT_TRUE(ann.lost().stop_requested());
}

TEST_F(elections, a_broken_term_is_lost_at_once) {
    ann.campaign();
    int told = 0;
    ann.on_lost([&] { ++told; });
    ASSERT_TRUE(world.table().break_hold("scheduler", ann.term().counter()));
    world.settle();
    EXPECT_FALSE(ann.is_leader());
    EXPECT_EQ(told, 1);
    ann.on_lost([&] { told += 10; });
    world.settle();
    EXPECT_EQ(told, 11) << "of a term that is over: at once";
    EXPECT_NE(ann.resign(), release_result::released);
}

TEST_F(elections, without_a_term_there_is_nothing_to_lose) {
    EXPECT_TRUE(ann.lost().stop_requested());
    EXPECT_EQ(ann.leader_until(), boot_clock::time_point::min());
    for (int i = 0; i < 2; ++i) {
        try {
            static_cast<void>(ann.term());
            ADD_FAILURE() << "a term out of nothing";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::not_owner);
            EXPECT_NE(std::string(e.what()).find("'scheduler'"), std::string::npos) << e.what();
        }
        EXPECT_THROW(ann.on_lost([] {}), error);
        ann.campaign();
        const std::stop_token lost = ann.lost();
        int told = 0;
        ann.on_lost([&] { ++told; });
        ann.resign();
        world.advance(5min);
        EXPECT_FALSE(lost.stop_requested()) << "resigning is no loss";
        EXPECT_EQ(told, 0);
    }
}

TEST_F(elections, resigning_ends_a_campaign_under_way) {
    bob.campaign();
    std::error_code said;
    std::jthread campaigns{[&] { ann.campaign(said); }};
    ASSERT_TRUE(eventually([&] { return world.waiting("scheduler") == 1; }));
    std::error_code ec;
    EXPECT_FALSE(ann.try_campaign(ec)) << "one campaign at a time";
    EXPECT_FALSE(ec);
    ann.resign();
    campaigns.join();
    EXPECT_EQ(said, errc::cancelled);
    EXPECT_EQ(world.waiting("scheduler"), 0u);
    EXPECT_TRUE(bob.is_leader());
}

TEST_F(elections, a_candidate_that_goes_away_resigns) {
    {
        election brief{mine.locks, "scheduler"};
        brief.campaign();
        EXPECT_TRUE(bob.leader());
    }
    EXPECT_TRUE(world.empty());
    auto leaving = std::make_unique<member>(world.join());
    election late{leaving->locks, "scheduler"};
    late.campaign();
    leaving.reset();
    EXPECT_FALSE(late.is_leader());
    std::error_code ec;
    late.campaign(ec);
    EXPECT_EQ(ec, errc::closed);
    EXPECT_FALSE(late.leader(ec));
    EXPECT_EQ(ec, errc::closed);
    EXPECT_TRUE(world.empty());
}

TEST_F(elections, a_store_without_an_answer_is_no_answer) {
    client_options options = fleet::quick();
    options.patience = 10ms;
    member cut_off = world.join(options);
    election lone{cut_off.locks, "scheduler"};
    cut_off.net->freeze();
    std::error_code ec;
    EXPECT_FALSE(lone.leader(ec));
    EXPECT_EQ(ec, errc::unreachable);
    EXPECT_THROW(static_cast<void>(lone.leader()), error);
    cut_off.net->heal();
}

TEST_F(elections, what_is_wrong_is_said_at_construction) {
    EXPECT_THROW((election{mine.locks, ""}), error);
    EXPECT_THROW((election{mine.locks, "n", {.lease = 1ns}}), error);
    EXPECT_THROW((election{mine.locks, "n", {.label = std::string(201, 'x')}}), error);
    call pool(other.locks, claim{.name = "pool", .capacity = 3});
    world.settle();
    election wrong{mine.locks, "pool"};
    std::error_code ec;
    EXPECT_FALSE(wrong.try_campaign(ec));
    EXPECT_EQ(ec, errc::kind_mismatch);
    EXPECT_THROW(wrong.campaign(), error);
    EXPECT_THROW(wrong.try_campaign(), error);
}

TEST(election_after_fork, the_child_leads_nothing) {
    client locks{"memory:election-fork"};
    election ann{locks, "scheduler"};
    ann.campaign();
    child forked{[&] {
        std::error_code ec;
        if (ann.is_leader()) return 1;
        ann.campaign(ec);
        if (ec != errc::forked) return 2;
        if (ann.resign(ec) != release_result::unknown || ec != errc::forked) return 3;
        if (ann.leader(ec) || ec != errc::forked) return 4;
        try {
            static_cast<void>(ann.term());
            return 5;
        } catch (const error& e) {
            return e.code() == errc::forked ? 0 : 6;
        }
    }};
    EXPECT_EQ(forked.wait(), 0);
    EXPECT_TRUE(ann.is_leader());
}

}  // namespace
}  // namespace mortise::testing
