// Campaigns without a thread that waits.
#include "locks/starting.hpp"

#include <mortise/election.hpp>
#include <mortise/error.hpp>

#include <optional>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class campaign_start : public starting {
protected:
    struct outcome {
        int answers = 0;
        std::optional<refusal> no;
        bool leads() const { return answers == 1 && !no; }
        std::error_code reason() const { return no ? no->reason : std::error_code{}; }
    };
    static election::completion taker(outcome& into) {
        return [&into](std::optional<refusal> no) {
            ++into.answers;
            into.no = std::move(no);
        };
    }
    outcome first;
    outcome second;
    election one{mine.locks, "chief"};
    election two{other.locks, "chief"};
};

TEST_F(campaign_start, leads_when_its_turn_comes) {
    one.start_campaign({}, taker(first));
    two.start_campaign({}, taker(second));
    EXPECT_EQ(first.answers, 0);
    world.settle();
    EXPECT_TRUE(first.leads());
    EXPECT_TRUE(one.is_leader());
    EXPECT_EQ(second.answers, 0);
    std::optional<release_result> said;
    one.start_resign([&](release_result result, std::error_code) { said = result; });
    EXPECT_FALSE(one.is_leader());
    world.settle();
    EXPECT_EQ(said, release_result::released);
    EXPECT_TRUE(second.leads());
    two.start_campaign({}, taker(first));
    world.settle();
    EXPECT_EQ(first.answers, 2) << "it leads already";
    EXPECT_FALSE(first.no);
}

TEST_F(campaign_start, ends_by_its_stop_by_its_wait_or_by_resigning) {
    one.campaign();
    two.start_campaign({.stop = stop.get_token()}, taker(first));
    two.start_campaign({}, taker(second));
    world.settle();
    EXPECT_EQ(second.reason(), errc::busy) << "one campaign at a time";
    stop.request_stop();
    world.settle();
    EXPECT_EQ(first.reason(), errc::cancelled);
    two.start_campaign({.wait = 1s}, taker(first));
    world.advance(1s);
    EXPECT_EQ(first.reason(), errc::timed_out);
    two.start_campaign({}, taker(first));
    std::error_code why;
    two.start_resign([&](release_result, std::error_code ec) { why = ec; });
    world.settle();
    EXPECT_EQ(first.answers, 3);
    EXPECT_EQ(first.reason(), errc::cancelled);
    EXPECT_EQ(why, errc::not_owner);
    EXPECT_EQ(world.waiting("chief"), 0u);
}

TEST_F(campaign_start, ends_with_its_election) {
    one.campaign();
    {
        election brief{other.locks, "chief"};
        brief.start_campaign({}, taker(first));
        world.settle();
    }
    world.settle();
    EXPECT_EQ(first.answers, 1);
    EXPECT_EQ(first.reason(), errc::cancelled);
    EXPECT_EQ(world.waiting("chief"), 0u);
}

TEST_F(campaign_start, a_grant_that_comes_as_the_election_goes_is_given_back) {
    {
        election brief{other.locks, "chief"};
        brief.start_campaign({}, taker(first));  // granted, but the answer has not run yet
    }
    world.settle();
    EXPECT_EQ(first.answers, 1);
    EXPECT_EQ(first.reason(), errc::cancelled);
    EXPECT_TRUE(world.empty());
}

}  // namespace
}  // namespace mortise::testing
