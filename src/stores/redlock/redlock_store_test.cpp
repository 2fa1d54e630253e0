// Redlock on real servers that die, hang and forget.
#include "stores/redlock/servers/far_nodes.hpp"
#include "stores/redlock/servers/nodes.hpp"
#include "stores/redlock/servers/race.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/mutex.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redlock {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class redlock : public ::testing::Test {
protected:
    explicit redlock(std::size_t count = 5) : nodes{count} {}

    std::string url(const std::string& more = "") { return "redlock://" + nodes.hosts() + "?key_prefix=lock:" + more; }

    // On how many nodes there is a lock, and with how many values.
    std::pair<std::size_t, std::size_t> spread(const std::string& name) {
        std::size_t on = 0;
        std::vector<std::string> values;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (!nodes[i].awake()) continue;
            const auto keys = nodes.keys(i, "lock:");
            const auto found = keys.find("lock:" + name);
            if (found == keys.end()) continue;
            ++on;
            if (std::find(values.begin(), values.end(), found->second) == values.end()) values.push_back(found->second);
        }
        return {on, values.size()};
    }
    bool soon_spread(const std::string& name, std::size_t on, std::size_t values) {
        return testing::eventually([&] { return spread(name) == std::pair{on, values}; }, 20s);
    }

    servers::nodes nodes;
};

TEST_F(redlock, a_lock_is_the_same_key_and_value_on_every_node) {
    client locks{url()};
    hold mine = locks.acquire("orders");
    EXPECT_TRUE(soon_spread("orders", 5, 1));
    client others{url()};
    EXPECT_EQ(others.try_acquire("orders").reason(), errc::busy);
    EXPECT_EQ(spread("orders"), (std::pair<std::size_t, std::size_t>{5, 1})) << "the attempt left something";
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(soon_spread("orders", 0, 0));
    EXPECT_TRUE(others.try_acquire("orders"));
}

TEST_F(redlock, works_with_two_nodes_dead) {
    nodes[1].kill();
    nodes[4].kill();
    client locks{url()};
    hold mine = locks.acquire("orders", {.wait = 20s, .lease = 600ms});
    EXPECT_EQ(spread("orders"), (std::pair<std::size_t, std::size_t>{3, 1}));
    std::this_thread::sleep_for(1s);
    EXPECT_TRUE(mine.valid()) << "was not renewed";
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_EQ(spread("orders").first, 0u);
}

TEST_F(redlock, refuses_with_three_dead_and_says_why_of_each) {
    nodes[0].kill();
    nodes[2].kill();
    nodes[3].kill();
    client locks{url(), {.patience = 1s}};
    const attempt none = locks.try_acquire("orders");
    EXPECT_EQ(none.reason(), errc::unreachable);
    const std::string why = none.refusal().describe();
    EXPECT_THAT(why, HasSubstr("3 of 5 nodes must grant it"));
    for (const std::size_t dead : {0u, 2u, 3u}) EXPECT_THAT(why, HasSubstr(nodes[dead].address()));
    EXPECT_TRUE(soon_spread("orders", 0, 0)) << "an attempt that failed left something";
}

TEST_F(redlock, a_lock_held_on_a_majority_is_lost_when_the_majority_dies) {
    client locks{url()};
    hold mine = locks.acquire("orders", {.lease = 900ms});
    for (const std::size_t dead : {0u, 1u, 2u}) nodes[dead].kill();
    EXPECT_TRUE(testing::eventually([&] { return !mine.valid(); }, 20s));
}

// Each node starts again empty while the lock is held; those that have it give it back to it.
TEST_F(redlock, a_hold_outlives_restarts_of_all_nodes_one_by_one) {
    client locks{url()};
    hold mine = locks.acquire("orders", {.lease = 900ms});
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        ASSERT_TRUE(soon_spread("orders", 5, 1)) << i;
        nodes[i].kill();
        nodes[i].restart();
    }
    EXPECT_TRUE(soon_spread("orders", 5, 1));
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
}

TEST_F(redlock, a_node_that_starts_again_empty_does_not_vote_until_it_has_settled) {
    client locks{url("&settle=3600s"), {.patience = 1s}};
    const attempt none = locks.try_acquire("orders");
    EXPECT_EQ(none.reason(), errc::unreachable);
    EXPECT_THAT(none.refusal().describe(), HasSubstr("(settle)"));
    EXPECT_TRUE(soon_spread("orders", 0, 0));
}

// Three nodes have the lock. One of them forgets it: two who have not, and it, must not be a majority for another.
TEST_F(redlock, a_restarted_node_lets_nobody_else_in_while_it_settles) {
    const std::string settled = "&settle=3s";
    client locks{url(settled)};
    client others{url(settled), {.patience = 500ms}};
    std::optional<hold> mine;
    ASSERT_TRUE(testing::eventually(
        [&] {
            attempt got = locks.try_acquire("orders", {.wait = 1s, .lease = 3s, .renew = renew::off});
            if (got) mine = std::move(*got);
            return static_cast<bool>(got);
        },
        60s));
    ASSERT_TRUE(soon_spread("orders", 5, 1));
    nodes[3].command({"del", "lock:orders"});
    nodes[4].command({"del", "lock:orders"});
    nodes[2].kill();
    nodes[2].restart();  // empty
    bool entered_early = false;
    while (mine->valid()) {
        const attempt got = others.try_acquire("orders");
        if (got && mine->valid()) entered_early = true;
    }
    EXPECT_FALSE(entered_early);
    client patient{url(settled)};
    EXPECT_TRUE(patient.try_acquire("orders", {.wait = 60s}));
}

TEST_F(redlock, a_node_that_hangs_costs_nothing_if_a_majority_answers) {
    client locks{url("&node_timeout=30s&timeout=60s"), {.reply_timeout = 40s, .patience = 60s}};
    locks.acquire("orders").release();
    nodes[0].freeze();
    nodes[1].freeze();
    const auto start = boot_clock::now();
    hold mine = locks.acquire("orders", {.lease = 5min});
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_LT(boot_clock::now() - start, 20s) << "it waited for a node";
    nodes[0].thaw();
    nodes[1].thaw();
    EXPECT_TRUE(soon_spread("orders", 0, 0)) << "what the nodes were asked stayed";
}

// All are asked at once.
TEST_F(redlock, a_pair_on_nodes_that_are_20_ms_away_takes_as_long_as_on_one) {
    const servers::far_nodes far{nodes, 20ms};
    const auto quickest_pair = [](const std::string& address) {
        client locks{address};
        std::chrono::duration<double, std::milli> least = 1min;
        for (int n = 0; n < 12; ++n) {
            const auto start = boot_clock::now();
            locks.acquire("orders", {.wait = 20s}).release();
            least = std::min<std::chrono::duration<double, std::milli>>(least, boot_clock::now() - start);
        }
        return least.count();
    };
    const double one = quickest_pair("redis://" + far.host(0) + "?protocol=setnx&timeout=20s");
    const double five = quickest_pair("redlock://" + far.hosts() + "?node_timeout=5s&timeout=20s");
    std::cout << "one node " << one << " ms, five nodes " << five << " ms: " << five / one << "\n";
    EXPECT_LT(five / one, 1.3);
}

TEST_F(redlock, a_node_that_hangs_costs_its_deadline_if_it_is_needed) {
    client locks{url("&node_timeout=100ms&timeout=60s"), {.patience = 2s}};
    locks.acquire("orders").release();
    for (const std::size_t hung : {0u, 1u, 2u}) nodes[hung].freeze();
    const attempt none = locks.try_acquire("orders");
    EXPECT_EQ(none.reason(), errc::unreachable);
    EXPECT_THAT(none.refusal().describe(), HasSubstr("no answer within 100 ms"));
    for (const std::size_t hung : {0u, 1u, 2u}) nodes[hung].thaw();
    EXPECT_TRUE(soon_spread("orders", 0, 0)) << "a late claim stayed";
    EXPECT_TRUE(locks.try_acquire("orders", {.wait = 20s}));
}

// Two nodes are another's, so three are ours; with one more dead, nobody has a majority.
TEST_F(redlock, an_attempt_without_a_majority_leaves_nothing_behind) {
    for (const std::size_t theirs : {0u, 1u}) nodes[theirs].command({"set", "lock:orders", "theirs", "px", "600000"});
    client locks{url(), {.patience = 1s}};
    {
        const attempt three = locks.try_acquire("orders");
        EXPECT_TRUE(three);
    }
    nodes[2].command({"set", "lock:orders", "theirs", "px", "600000"});
    EXPECT_EQ(locks.try_acquire("orders").reason(), errc::busy);
    EXPECT_TRUE(soon_spread("orders", 3, 1));
    EXPECT_EQ(nodes[0].command({"get", "lock:orders"}), "theirs");
}

// A list under the key, on a minority and then on a majority.
TEST_F(redlock, foreign_data_is_left_alone_and_named) {
    client locks{url(), {.patience = 1s}};
    for (const std::size_t foreign : {0u, 1u}) nodes[foreign].command({"rpush", "lock:orders", "data"});
    EXPECT_TRUE(static_cast<bool>(locks.try_acquire("orders", {.wait = 20s}))) << "three are a majority";
    nodes[3].command({"rpush", "lock:orders", "data"});
    {
        const attempt none = locks.try_acquire("orders", {.wait = 20s});
        EXPECT_EQ(none.reason(), errc::kind_mismatch);
        EXPECT_THAT(none.refusal().describe(), HasSubstr(nodes[0].address()));
        EXPECT_THAT(none.refusal().describe(), HasSubstr("no string"));
    }
    nodes[4].kill();
    const auto names_the_data = [&] {  // unless a node that lives was too slow to say so
        const attempt none = locks.try_acquire("orders");
        EXPECT_FALSE(none);
        return none.refusal().describe().find("no string") != std::string::npos;
    };
    EXPECT_TRUE(testing::eventually(names_the_data));
    EXPECT_TRUE(testing::eventually([&] { return nodes[2].command({"exists", "lock:orders"}).starts_with("0"); }, 20s));
    for (const std::size_t foreign : {0u, 1u, 3u})
        EXPECT_TRUE(nodes[foreign].command({"llen", "lock:orders"}).starts_with("1"));
}

TEST_F(redlock, the_doctor_asks_every_node) {
    client locks{url()};
    nodes[2].kill();
    std::error_code ec;
    std::string all;
    for (const finding& one : locks.check(ec)) all += one.what + "\n";
    EXPECT_FALSE(ec);
    for (std::size_t i = 0; i < nodes.size(); ++i) EXPECT_THAT(all, HasSubstr(nodes[i].address()));
}

TEST_F(redlock, what_keys_on_several_nodes_cannot_do_is_refused_by_name) {
    client locks{url()};
    EXPECT_FALSE(locks.promises().tokens);
    std::error_code ec;
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_EQ(ec, errc::unsupported);
    EXPECT_EQ(locks.try_acquire("orders", {.kept_by = kept_by::lease}).reason(), errc::unsupported);
    EXPECT_EQ(locks.try_acquire("orders", {.require_token = true}).reason(), errc::no_token);
}

TEST_F(redlock, two_clients_race_and_never_meet) {
    const servers::race seen = servers::two_clients_race(url("&node_timeout=5s"), 500);
    EXPECT_EQ(seen.given.size(), seen.wanted);
    EXPECT_EQ(seen.overlaps, 0);
    EXPECT_TRUE(soon_spread("both", 0, 0));
}

class redlock_of_four : public redlock {
protected:
    redlock_of_four() : redlock(4) {}
};

TEST_F(redlock_of_four, one_may_fail_and_half_is_no_majority) {
    client locks{url(), {.patience = 1s}};
    nodes[0].kill();
    {
        const attempt three = locks.try_acquire("orders", {.wait = 20s});
        EXPECT_TRUE(three);
    }
    nodes[1].command({"set", "lock:orders", "theirs", "px", "600000"});
    const attempt two = locks.try_acquire("orders");
    EXPECT_EQ(two.reason(), errc::busy);
    EXPECT_TRUE(soon_spread("orders", 1, 1));
}

}  // namespace
}  // namespace mortise::inline v0::stores::redlock
