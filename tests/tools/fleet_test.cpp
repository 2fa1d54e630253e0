// `once` and `elect`, as the nodes of a fleet use them.
#include "program.hpp"
#include "stores/redis/servers/single.hpp"
#include "support/tcp_proxy.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <sstream>

#include <gmock/gmock.h>

namespace command {
namespace {

using mortise::testing::scale;
using mortise::testing::tcp_proxy;
using ::testing::HasSubstr;

struct once_command : command_suite {};

TEST_F(once_command, runs_on_the_first_node_that_comes) {
    const outcome first = mortise({"once", "--every", "1h", "report", "--", "echo", "made"});
    EXPECT_EQ(first.code, 0);
    EXPECT_EQ(first.out, "made\n");
    const outcome second = mortise({"once", "--every", "1h", "-v", "report", "--", "echo", "made"});
    EXPECT_EQ(second.code, 0);
    EXPECT_EQ(second.out, "");
    EXPECT_THAT(second.err, HasSubstr("'report': it has run in this period"));
    EXPECT_EQ(mortise({"once", "--every", "1h", "-E", "9", "report", "--", "true"}).code, 9);
    EXPECT_EQ(mortise({"once", "--every", "1h", "other", "--", "sh", "-c", "exit 7"}).code, 7);
}

TEST_F(once_command, runs_again_in_the_next_period) {
    EXPECT_EQ(mortise({"once", "--every", "200ms", "report", "--", "true"}).code, 0);
    EXPECT_TRUE(eventually(
        [&] {
            return mortise({"once", "--every", "200ms", "-E", "9", "report", "--", "true"}).code == 0;
        },
        60s));
}

TEST_F(once_command, waits_for_no_run_that_takes_longer) {
    child slow = start(
        {"once", "--every", "200ms", "report", "--", "sh", "-c", "echo > " + (scratch_ / "runs") + "; exec sleep 600"});
    ASSERT_TRUE(appears("runs"));
    std::this_thread::sleep_for(300ms);  // the period is over, the run is not
    EXPECT_EQ(mortise({"once", "--every", "200ms", "-E", "9", "report", "--", "true"}).code, 9);
}

TEST_F(once_command, needs_a_period_that_makes_sense) {
    EXPECT_THAT(mortise({"once", "report", "--", "true"}).err, HasSubstr("--every is missing"));
    EXPECT_EQ(mortise({"once", "--every", "0", "report", "--", "true"}).code, 64);
    EXPECT_EQ(mortise({"once", "--every", "1h", "--slack", "2h", "report", "--", "true"}).code, 64);
    EXPECT_EQ(mortise({"once", "--every", "7d", "report", "--", "true"}).code, 64);
    EXPECT_THAT(mortise({"once", "--store", "memory:", "--every", "1h", "x", "--", "true"}).err, HasSubstr("memory:"));
}

class elect_command : public command_suite {
protected:
    // A leader's command: notes its node, its process and its term, and that nobody else's runs.
    line node(int number) const {
        const std::string alone = scratch_ / "alone";
        return {"elect",
                "--lease",
                "2s",
                "-v",
                "--label",
                "node " + std::to_string(number),
                "leader",
                "--",
                "sh",
                "-c",
                "exec 9>" + alone + "; flock -n 9 || echo overlap >> " + (scratch_ / "bad") + "; echo " +
                    std::to_string(number) + " $$ $MORTISE_TOKEN >> " + (scratch_ / "terms") + "; exec sleep 600"};
    }
    struct term {
        int node = -1;
        pid_t command = 0;
        std::uint64_t token = 0;
    };
    std::vector<term> terms() const {
        std::vector<term> all;
        std::istringstream lines{content(scratch_ / "terms")};
        for (std::string each; std::getline(lines, each);) {
            std::istringstream in{each};
            if (term one; in >> one.node >> one.command >> one.token) all.push_back(one);
        }
        return all;
    }
    term await_term(std::size_t number) const {
        EXPECT_TRUE(eventually([&] { return terms().size() >= number; }, 60s)) << content(scratch_ / "err");
        return terms().size() < number ? term{} : terms()[number - 1];
    }
    void expect_no_overlap() const {
        EXPECT_EQ(content(scratch_ / "bad"), "");
        const std::vector<term> all = terms();
        EXPECT_TRUE(std::ranges::is_sorted(all, {}, &term::token));
    }
    // The guardian of a leader: the parent of its command.
    static pid_t parent_of(pid_t process) {
        std::istringstream in{content("/proc/" + std::to_string(process) + "/stat")};
        std::string text{std::istreambuf_iterator<char>(in), {}};
        std::istringstream rest{text.substr(text.rfind(')') + 2)};
        char state = 0;
        pid_t parent = 0;
        rest >> state >> parent;
        return parent;
    }
};

// The wrapper is killed, or the guardian, in turn. (A lock that an operator breaks is another story: docs/concepts.md.)
TEST_F(elect_command, one_leads_after_the_other_and_never_two) {
    std::map<int, child> nodes;
    for (int i = 0; i < 3; ++i) nodes.emplace(i, start(node(i)));
    const std::size_t rounds = std::max<std::size_t>(6, std::min<std::uint64_t>(50, scale(50)));
    for (std::size_t round = 1; round <= rounds; ++round) {
        const term leads = await_term(round);
        ASSERT_GE(leads.node, 0);
        if (round % 2 == 0) {
            ::kill(parent_of(leads.command), SIGKILL);  // its wrapper stands again
            continue;
        }
        nodes.erase(leads.node);
        nodes.emplace(leads.node, start(node(leads.node)));
    }
    await_term(rounds + 1);
    expect_no_overlap();
}

// Somebody breaks the lock of a leader: it stops, and stands again.
TEST_F(elect_command, stands_again_when_its_lock_was_broken) {
    const child one = start(node(1));
    const term leads = await_term(1);
    std::error_code ec;
    ::mortise::client locks{"host:" + store_};
    EXPECT_TRUE(locks.break_lock("leader", ::mortise::token{leads.token}, "a test", ec)) << ec;
    EXPECT_GT(await_term(2).token, leads.token);
    EXPECT_TRUE(eventually([&] { return ::kill(leads.command, 0) != 0; }, 30s));
}

TEST_F(elect_command, ends_with_its_command_and_by_a_signal) {
    EXPECT_EQ(mortise({"elect", "leader", "--", "sh", "-c", "exit 75"}).code, 75);
    child leader = start(node(1));
    await_term(1);
    child waits = start(node(2), "out2", "err2");
    ASSERT_TRUE(eventually_says("err2", "node 1"));
    ::kill(waits.pid(), SIGTERM);
    EXPECT_EQ(waits.wait(), 143);
    ::kill(leader.pid(), SIGTERM);
    EXPECT_EQ(leader.wait(), 143);
    EXPECT_EQ(mortise({"elect", "--store", "redis://127.0.0.1:1", "--patience", "0.2s", "x", "--", "true"}).code, 69);
}

// Cut off, a leader ends its command before the store gives the lead away, and stands again when it is back.
TEST_F(elect_command, steps_down_in_time_when_it_is_cut_off) {
    ::mortise::stores::redis::servers::single server;
    std::deque<tcp_proxy> networks;
    std::vector<child> nodes;
    for (int i = 0; i < 2; ++i) {
        networks.emplace_back(server.node().port());
        ::setenv("MORTISE_STORE", ("redis://127.0.0.1:" + std::to_string(networks.back().port())).c_str(), 1);
        nodes.push_back(start(node(i)));
    }
    for (std::size_t round = 1; round <= 3; ++round) {
        const term leads = await_term(round);
        ASSERT_GE(leads.node, 0);
        networks[static_cast<std::size_t>(leads.node)].freeze();
        await_term(round + 1);
        networks[static_cast<std::size_t>(leads.node)].thaw();
    }
    expect_no_overlap();
}

}  // namespace
}  // namespace command
