// The findings about servers.
#include "stores/zookeeper/diagnostics.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace std::chrono_literals;
using grade = finding::grade;

constexpr const char* leader_says =
    "Zookeeper version: 3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c, built on 2024-02-12 22:16 UTC\n"
    "Latency min/avg/max: 0/0.5/12\nReceived: 1234\nSent: 1230\nConnections: 2\nOutstanding: 0\n"
    "Zxid: 0x500000007\nMode: leader\nNode count: 5\nProposal sizes last/min/max: 48/32/48\n";

TEST(zookeeper_facts, are_read_from_what_a_server_says) {
    const server_facts facts = read_facts(leader_says);
    EXPECT_EQ(facts.version, "3.8.4");
    EXPECT_EQ(facts.mode, "leader");
    EXPECT_EQ(facts.received, 1234u);
    EXPECT_EQ(facts.zxid, 0x500000007u);
    for (const char* odd : {"", "This ZooKeeper instance is not currently serving requests\n",
                            "srvr is not executed because it is not in the whitelist.\n", "\x01\x02"})
        EXPECT_TRUE(read_facts(odd).mode.empty()) << odd;
    EXPECT_EQ(each_server("a:1,[::1]:2").size(), 2u);
}

class zookeeper_diagnostics : public ::testing::Test {
protected:
    settings settings_;
    diagnosis seen_{
        .servers = {{"a:1", read_facts(leader_says)}, {"b:1", follower()}}, .trip = 2ms, .session = settings_.session};

    static server_facts follower() {
        server_facts facts = read_facts(leader_says);
        facts.mode = "follower";
        return facts;
    }
    // The finding that has these words; each that is wrong has a remedy.
    finding about(const std::string& words) const {
        for (const finding& one : findings_of(settings_, seen_)) {
            EXPECT_EQ(one.what.find('\n'), std::string::npos);
            EXPECT_TRUE(one.is < grade::warning || !one.remedy.empty()) << one.what;
            if (one.what.find(words) != std::string::npos) return one;
        }
        return {grade::good, "nothing", {}};
    }
    grade worst() const {
        grade is = grade::good;
        for (const finding& one : findings_of(settings_, seen_)) is = std::max(is, one.is);
        return is;
    }
};

TEST_F(zookeeper_diagnostics, of_healthy_servers_warns_of_nothing_but_says_that_there_is_no_tls) {
    EXPECT_LE(worst(), grade::note);
    EXPECT_EQ(about("TLS").is, grade::note);
    EXPECT_EQ(about("anybody who reaches").is, grade::note);
    settings_.user = "ann";
    EXPECT_EQ(about("anybody who reaches").what, "nothing");
}

TEST_F(zookeeper_diagnostics, tells_of_members_that_are_away_or_alone) {
    seen_.servers.push_back({"c:1", {}});
    EXPECT_EQ(about("c:1 does not answer").is, grade::warning);
    seen_.servers.back().second.version = "3.8.4";
    EXPECT_EQ(about("c:1 serves nobody").is, grade::warning);
    seen_.servers.back().second.mode = "read-only";
    EXPECT_EQ(about("c:1 is read-only").is, grade::warning);
    seen_.servers = {{"b:1", follower()}, {"c:1", follower()}};
    EXPECT_EQ(about("the leader is not among").is, grade::note);
    seen_.servers.pop_back();
    EXPECT_EQ(about("names one server").is, grade::note);
}

TEST_F(zookeeper_diagnostics, says_when_no_lock_can_be_had) {
    seen_.failed = "no connection to a:1";
    EXPECT_EQ(about("no connection to a:1").is, grade::problem);
}

TEST_F(zookeeper_diagnostics, says_when_the_nodes_are_not_ours_to_use) {
    seen_.denied = "the servers do not permit us to read nodes";
    EXPECT_EQ(about("locks cannot be taken: the servers do not permit us").is, grade::problem);
}

TEST_F(zookeeper_diagnostics, says_when_the_leader_is_slow_or_the_session_another_one) {
    seen_.trip = 3s;
    EXPECT_EQ(about("the leader answers in").is, grade::warning);
    seen_.session = 4s;
    EXPECT_EQ(about("limit session timeouts").is, grade::warning);
}

TEST_F(zookeeper_diagnostics, knows_versions_and_epochs_to_beware_of) {
    const auto with = [&](const std::string& version) {
        seen_.servers[1].second.version = version;
        return about("b:1 is ").is;
    };
    EXPECT_EQ(with("3.4.14"), grade::problem);
    EXPECT_EQ(with("3.5.3"), grade::note);
    EXPECT_EQ(with("3.7.1"), grade::note);
    EXPECT_EQ(with("3.7.2"), grade::good);
    EXPECT_EQ(with("3.8.2"), grade::note);
    EXPECT_EQ(with("3.8.3"), grade::good);
    EXPECT_EQ(with("3.9.0"), grade::note);
    EXPECT_EQ(with("3.9.1"), grade::good);
    EXPECT_EQ(with("3.10.0"), grade::good);
    seen_.servers[0].second.zxid = std::uint64_t{3'000'000} << 32;
    EXPECT_EQ(about("two million leaders").is, grade::warning);
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
