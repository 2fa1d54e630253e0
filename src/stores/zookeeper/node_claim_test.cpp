// What a listing says about a claim of ours.
#include "stores/zookeeper/node_claim.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using verdict_is = base::line_verdict::verdict;

constexpr claim_id mine{{0, 1}};
constexpr claim_id other{{0, 2}};
constexpr claim_id third{{0, 3}};

class zookeeper_views : public ::testing::Test {
protected:
    // Adds a node to the line.
    void add(const base::line_entry& entry, std::optional<std::uint32_t> stands_at = {}) {
        nodes_.push_back(names_.prefix(entry, stands_at) + "000000000" + std::to_string(nodes_.size() + 1));
    }
    line_listing line() const { return {.nodes = names_.read_line(nodes_), .floor = floor_}; }
    bool wanted_since(std::uint64_t counter) const { return line().wanted_since(counter); }
    base::queued_claim::line_view view(const node_claim& claim, std::vector<claim_id> leaving = {}) const {
        return view_of(claim, line(), [&](const claim_id& id) {
            return std::find(leaving.begin(), leaving.end(), id) != leaving.end();
        });
    }
    static node_claim claim_of(const base::line_entry& entry, bool queues = false) {
        node_claim claim{rules_of(entry)};
        claim.entry = entry;
        claim.queues = queues;
        claim.counter = 100;
        return claim;
    }

    node_stat floor_{};

private:
    const naming names_{"/root", naming::protocol::own};
    std::vector<std::string> nodes_;
};

TEST_F(zookeeper_views, of_one_without_a_node_say_what_would_be) {
    const node_claim claim = claim_of({.id = mine});
    EXPECT_EQ(view(claim).verdict.is, verdict_is::holds);
    EXPECT_FALSE(view(claim).in_line);
    EXPECT_FALSE(view(claim).others);
    add({.id = other});
    EXPECT_EQ(view(claim).verdict.is, verdict_is::waits);
    EXPECT_EQ(view(claim).verdict.holder, other);
    EXPECT_TRUE(view(claim).others);
}

TEST_F(zookeeper_views, tell_claims_that_are_leaving_from_those_that_stay) {
    const node_claim outside = claim_of({.id = mine});
    add({.id = other});
    add({.id = third});
    EXPECT_FALSE(view(outside).only_leavers);
    EXPECT_FALSE(view(outside, {other}).only_leavers) << "the third stays";
    EXPECT_TRUE(view(outside, {other, third}).only_leavers);
    EXPECT_FALSE(view(claim_of({.id = mine}, true), {other, third}).only_leavers) << "one that queues just waits";
    add({.id = mine});
    EXPECT_FALSE(view(outside, {third}).only_leavers);
    EXPECT_TRUE(view(outside, {other, third}).only_leavers);
}

TEST_F(zookeeper_views, ask_for_a_stamp_if_an_exchange_came_after_the_node) {
    const node_claim claim = claim_of({.id = mine});
    add({.id = mine});
    EXPECT_FALSE(view(claim).verdict.to_be_stamped);
    floor_.changed = 101;
    EXPECT_FALSE(view(claim).verdict.to_be_stamped) << "the line was created late, but nobody wrote to it";
    floor_.version = 1;
    EXPECT_TRUE(view(claim).verdict.to_be_stamped);
    floor_.changed = 100;
    EXPECT_FALSE(view(claim).verdict.to_be_stamped) << "the exchange was its own";
}

TEST_F(zookeeper_views, ask_for_no_stamp_if_somebody_only_asked) {
    const node_claim claim = claim_of({.id = mine});
    add({.id = mine});
    floor_ = {.changed = 101, .version = 1, .data_length = asked_mark.size()};
    EXPECT_FALSE(view(claim).verdict.to_be_stamped);
    floor_.data_length = 0;
    EXPECT_TRUE(view(claim).verdict.to_be_stamped);
}

TEST_F(zookeeper_views, tell_who_wants_a_lock_from_who_shares_it) {
    constexpr std::uint32_t all = 4;
    add({.id = mine, .capacity = all});
    add({.id = other, .capacity = all});
    floor_.changed = 101;
    EXPECT_FALSE(wanted_since(100)) << "the line was created late, but nobody wrote to it";
    floor_.version = 1;
    EXPECT_TRUE(wanted_since(100));
    EXPECT_FALSE(wanted_since(101));
    add({.id = third, .capacity = all, .weight = all});
    EXPECT_TRUE(wanted_since(101));
}

TEST_F(zookeeper_views, see_whether_a_place_was_taken) {
    const node_claim claim = claim_of({.id = mine, .capacity = 4, .weight = 4, .instead_of = other});
    add({.id = other, .capacity = 4, .weight = 1});
    add(claim.entry);
    EXPECT_FALSE(view(claim).took_place);
    EXPECT_EQ(view(claim).verdict.is, verdict_is::may_exchange);
}

TEST_F(zookeeper_views, of_a_taken_place_hold) {
    const node_claim claim = claim_of({.id = mine, .capacity = 4, .weight = 4, .instead_of = other});
    add(claim.entry, 1);
    EXPECT_TRUE(view(claim).took_place);
    EXPECT_EQ(view(claim).verdict.is, verdict_is::holds);
}

TEST_F(zookeeper_views, refuse_what_tokens_have_no_room_for) {
    node_claim claim = claim_of({.id = mine});
    add({.id = mine});
    claim.counter = largest_counter;
    EXPECT_FALSE(view(claim).refusal);
    ++claim.counter;
    ASSERT_TRUE(view(claim).refusal);
    EXPECT_EQ(view(claim).refusal->reason, errc::exhausted);
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
