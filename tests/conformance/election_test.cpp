// One leader at a time, whatever becomes of the candidates.
#include "checker/history/overlap.hpp"
#include "conformance/suite.hpp"
#include "support/children.hpp"
#include "support/recording_observer.hpp"
#include "support/shared_page.hpp"
#include "support/tapped_client.hpp"
#include "support/waiting.hpp"

#include <mortise/election.hpp>
#include <mortise/error.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class elected : public store_suite {
protected:
    // The number of its term; none if the store has no tokens, and then the election must say so.
    token term_of(const election& leading) const {
        try {
            const token its = leading.term();
            EXPECT_TRUE(can().tokens);
            return its;
        } catch (const error& e) {
            EXPECT_EQ(e.code(), can().tokens ? std::error_code{} : make_error_code(errc::no_token)) << e.what();
            return {};
        }
    }
    void lead_now_and_then(client& locks, overlap_checker& checker, std::uint64_t times) const {
        election mine{locks, "scheduler"};
        for (std::uint64_t i = 0; i < times; ++i) {
            mine.campaign();
            const token its = term_of(mine);
            checker.enter(can().tokens ? its : token{checker.entries() + 1});
            checker.leave();
            mine.resign();
        }
    }
};
EVERY_STORE(elected);

TEST_P(elected, never_two_lead_and_terms_rise_among_threads) {
    const std::uint64_t times = rounds(50);
    std::deque<client> locks;
    for (int c = 0; c < 2; ++c) locks.push_back(make_client());
    overlap_checker checker;
    {
        std::vector<std::jthread> candidates;
        for (std::size_t t = 0; t < 6; ++t)
            candidates.emplace_back([&, t] { lead_now_and_then(locks[t % 2], checker, times); });
    }
    EXPECT_EQ(checker.entries(), 6 * times);
    EXPECT_EQ(checker.overlaps(), 0u);
    EXPECT_EQ(checker.token_disorders(), 0u);
}

TEST_P(elected, never_two_lead_and_terms_rise_among_processes) {
    if (!GetParam().store->spans_processes()) GTEST_SKIP() << "a store of one process";
    const std::uint64_t times = rounds(50);
    const shared_page<overlap_checker> checker;
    std::vector<child> candidates;
    for (int c = 0; c < 4; ++c)
        candidates.emplace_back([&] {
            client mine = make_client();
            lead_now_and_then(mine, *checker, times);
            return 0;
        });
    for (child& one : candidates) EXPECT_EQ(one.wait(90s), 0);
    EXPECT_EQ(checker->entries(), 4 * times);
    EXPECT_EQ(checker->overlaps(), 0u);
    EXPECT_EQ(checker->token_disorders(), 0u);
}

TEST_P(elected, everybody_can_see_who_leads) {
    if (!can().lists) GTEST_SKIP() << no_lists;
    client locks = make_client({.label = "node 1"});
    client others = make_client({.label = "node 2"});
    election one{locks, "scheduler"};
    election two{others, "scheduler", {.label = "spare"}};
    EXPECT_FALSE(one.leader());
    two.campaign();
    const auto leads = one.leader();
    ASSERT_TRUE(leads);
    EXPECT_EQ(leads->label, "spare");
    EXPECT_EQ(leads->pid, ::getpid());
    EXPECT_EQ(leads->token, term_of(two));
    EXPECT_FALSE(one.try_campaign());
    EXPECT_FALSE(answer_to(20ms, [&](auto wait) { return one.try_campaign_for(wait); }));
    EXPECT_FALSE(
        answer_to(20ms, [&](auto wait) { return one.try_campaign_until(std::chrono::steady_clock::now() + wait); }));
    EXPECT_TRUE(two.is_leader());
    two.resign();
    // A campaign that was given up may be granted for a moment before it is withdrawn.
    EXPECT_TRUE(testing::eventually([&] { return !one.leader(); }));
    one.campaign();
    EXPECT_EQ(two.leader()->label, "node 1");
}

TEST_P(elected, a_campaign_that_is_given_up_leaves_nobody_in_line) {
    const auto seen = std::make_shared<recording_observer>();
    client locks = make_client({.observer = seen});
    client others = make_client();
    election one{locks, "scheduler"};
    election two{others, "scheduler"};
    two.campaign();
    std::stop_source stop;
    std::atomic<bool> got{true};
    std::jthread campaigns{[&] { got = one.campaign(stop.get_token()); }};
    ASSERT_TRUE(seen->wait_for(event_kind::waited, 1, plenty));
    stop.request_stop();
    campaigns.join();
    EXPECT_FALSE(got);
    EXPECT_FALSE(one.is_leader());
    two.resign();
    EXPECT_TRUE(two.try_campaign_for(plenty)) << "nobody is before it once the withdrawal has arrived";
}

TEST_P(elected, the_next_one_leads_when_the_leader_dies) {
    if (!GetParam().store->spans_processes()) GTEST_SKIP() << "a store of one process";
    if (!can().lists) GTEST_SKIP() << no_lists;
    milestone leads;
    child victim{[&] {
        client mine = make_client({.lease = 3s});
        election doomed{mine, "scheduler", {.label = "doomed"}};
        doomed.campaign();
        leads.reach();
        std::this_thread::sleep_for(90s);
        return 0;
    }};
    leads.await();
    client locks = make_client();
    election next{locks, "scheduler"};
    const auto before = next.leader();
    ASSERT_TRUE(before);
    EXPECT_EQ(before->label, "doomed");
    EXPECT_EQ(before->pid, victim.pid());
    EXPECT_FALSE(next.try_campaign());
    victim.kill();
    ASSERT_TRUE(next.try_campaign_for(plenty));
    expect_later(term_of(next), before->token);
}

TEST_P(elected, a_leader_that_does_not_renew_steps_down) {
    client locks = make_client();
    if (!locks.promises().leases) GTEST_SKIP() << "terms of this store do not end by time";
    client others = make_client();
    election brief{locks, "scheduler", {.lease = 300ms, .renew = renew::off}};
    election next{others, "scheduler"};
    brief.campaign();
    const token first = term_of(brief);
    const std::stop_token lost = brief.lost();
    ASSERT_TRUE(next.try_campaign_for(plenty));
    EXPECT_FALSE(brief.is_leader());
    expect_later(term_of(next), first);
    EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
    EXPECT_NE(brief.resign(), release_result::released);
    EXPECT_TRUE(next.is_leader());
}

TEST_P(elected, a_term_that_is_taken_away_is_told_and_can_be_won_again) {
    if (!can().tokens) GTEST_SKIP() << no_tokens;
    tapped_client admin{store_at_url()};
    client locks = make_client();
    election mine{locks, "scheduler"};
    mine.campaign();
    const token first = mine.term();
    std::atomic<int> told{0};
    mine.on_lost([&] {
        mine.campaign();
        ++told;
    });
    ASSERT_TRUE(admin.locks().try_acquire("other"));
    ASSERT_TRUE(admin.break_hold("scheduler", first));
    ASSERT_TRUE(eventually([&] { return told == 1; }));
    EXPECT_TRUE(mine.is_leader());
    EXPECT_GT(mine.term(), first);
}

}  // namespace
}  // namespace mortise::testing
