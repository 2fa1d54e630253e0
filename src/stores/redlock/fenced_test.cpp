// Redlock with tokens (fenced=true) on real servers.
#include "stores/redlock/servers/far_nodes.hpp"
#include "stores/redlock/servers/nodes.hpp"
#include "stores/redlock/servers/race.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redlock {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class fenced_redlock : public ::testing::Test {
protected:
    std::string url(const std::string& more = "") { return "redlock://" + nodes.hosts() + "?fenced=true" + more; }

    // A field of what the node remembers of its tokens.
    std::string remembered(std::size_t node, const std::string& field) {
        std::string value = nodes[node].command({"hget", "mortise:tokens", field});
        while (value.ends_with('\n')) value.pop_back();
        return value;
    }
    // On how many nodes somebody holds it.
    std::size_t held_on(const std::string& name) {
        std::size_t on = 0;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            client one{"redis://" + nodes[i].address()};
            for (const auto& lock : one.list()) on += lock.name == name ? 1 : 0;
        }
        return on;
    }

    servers::nodes nodes{5};
};

TEST_F(fenced_redlock, gives_tokens_that_rise_from_client_to_client) {
    client mine{url()};
    client others{url()};
    EXPECT_TRUE(mine.promises().tokens);
    token latest;
    for (int n = 0; n < 10; ++n)
        for (client* one : {&mine, &others}) {
            const hold held = one->acquire("orders", {.wait = 20s, .require_token = true});
            EXPECT_GT(held.token(), latest);
            latest = held.token();
        }
    // A majority has agreed on the latest.
    std::size_t agreed = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        agreed += remembered(i, "highest") == std::to_string(latest.counter()) ? 1 : 0;
    EXPECT_GE(agreed, 3u);
}

TEST_F(fenced_redlock, two_clients_race_and_no_token_is_given_twice_or_out_of_order) {
    const servers::race seen = servers::two_clients_race(url("&node_timeout=5s"), 300);
    EXPECT_EQ(seen.given.size(), seen.wanted);
    EXPECT_EQ(seen.overlaps, 0);
    const std::vector<token>& given = seen.given;
    std::size_t disorders = 0;
    for (std::size_t i = 1; i < given.size(); ++i) disorders += given[i] <= given[i - 1] ? 1 : 0;
    EXPECT_EQ(disorders, 0u);
    EXPECT_EQ(std::set<token>(given.begin(), given.end()).size(), given.size());
}

TEST_F(fenced_redlock, works_with_two_nodes_dead_after_the_first_claim) {
    client locks{url()};
    const token before = locks.acquire("orders", {.wait = 20s}).token();
    nodes[1].kill();
    nodes[4].kill();
    client later{url()};
    EXPECT_GT(later.acquire("orders", {.wait = 20s}).token(), before);
}

TEST_F(fenced_redlock, before_the_first_claim_of_all_every_node_must_answer) {
    nodes[2].kill();
    client locks{url(), {.patience = 2s}};
    const attempt none = locks.try_acquire("orders");
    EXPECT_EQ(none.reason(), errc::unreachable);
    EXPECT_THAT(none.refusal().describe(), HasSubstr("before the first claim all 5 nodes must answer once"));
    nodes[2].restart();
    client later{url()};
    EXPECT_TRUE(later.try_acquire("orders", {.wait = 20s}));
    EXPECT_TRUE(testing::eventually([&] { return static_cast<bool>(locks.try_acquire("orders")); }, 20s));
}

// The next attempt follows while the nodes give back the last one.
TEST_F(fenced_redlock, an_attempt_does_not_meet_the_one_before_it_on_slow_nodes) {
    nodes[2].kill();
    const servers::far_nodes far{nodes, 40ms};
    client locks{"redlock://" + far.hosts() + "?fenced=true&node_timeout=5s", {.patience = 1s}};
    EXPECT_EQ(locks.try_acquire("orders").reason(), errc::unreachable);
}

// Two nodes are away, so three are a majority; one of these has forgotten its tokens.
TEST_F(fenced_redlock, a_node_that_starts_again_empty_abstains_until_it_was_told) {
    client locks{url()};
    const token before = locks.acquire("orders", {.wait = 20s}).token();
    nodes[0].kill();
    nodes[0].restart();
    for (const std::size_t away : {1u, 2u}) nodes[away].freeze();
    {
        client others{url(), {.patience = 3s}};
        const attempt none = others.try_acquire("orders");
        EXPECT_EQ(none.reason(), errc::unreachable);
        EXPECT_THAT(none.refusal().describe(), HasSubstr("has forgotten its tokens"));
        EXPECT_THAT(none.refusal().describe(), HasSubstr(nodes[0].address()));
    }
    EXPECT_NE(remembered(0, "whole"), "1");
    for (const std::size_t away : {1u, 2u}) nodes[away].thaw();
    client others{url()};
    const token after = others.acquire("orders", {.wait = 20s}).token();
    EXPECT_GT(after, before);
    EXPECT_TRUE(testing::eventually(
        [&] {
            static_cast<void>(others.acquire("orders", {.wait = 20s}));
            return remembered(0, "whole") == "1";
        },
        20s));
    EXPECT_GE(std::stoull(remembered(0, "floor")), before.counter());
}

TEST_F(fenced_redlock, an_attempt_without_a_majority_leaves_nothing_behind) {
    client locks{url()};
    locks.acquire("orders", {.wait = 20s}).release();
    std::vector<client> theirs;
    std::vector<hold> held;
    for (const std::size_t i : {0u, 1u, 2u}) {
        theirs.emplace_back("redis://" + nodes[i].address());
        held.push_back(theirs.back().acquire("orders", {.wait = 20s}));
    }
    EXPECT_EQ(locks.try_acquire("orders").reason(), errc::busy);
    EXPECT_TRUE(testing::eventually([&] { return held_on("orders") == 3; }, 20s));
    held.clear();
    EXPECT_TRUE(locks.try_acquire("orders", {.wait = 20s}));
    EXPECT_TRUE(testing::eventually([&] { return held_on("orders") == 0; }, 20s));
}

TEST_F(fenced_redlock, a_server_whose_memory_was_flushed_is_found_out_when_it_should_raise) {
    client locks{url()};
    token latest = locks.acquire("orders", {.wait = 20s}).token();
    for (const std::size_t i : {0u, 2u, 4u}) {
        nodes[i].command({"flushall"});
        for (int n = 0; n < 3; ++n) {
            const token next = locks.acquire("orders", {.wait = 20s}).token();
            EXPECT_GT(next, latest);
            latest = next;
        }
        EXPECT_TRUE(testing::eventually(
            [&] {
                latest = locks.acquire("orders", {.wait = 20s}).token();
                return remembered(i, "whole") == "1";
            },
            20s))
            << i;
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::redlock
