// `once` and `elect`, as the nodes of a fleet use them.
#include "checker/faults/tcp_proxy.hpp"
#include "program.hpp"
#include "stores/redis/servers/single.hpp"
#include "support/shared_page.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/client.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include <gmock/gmock.h>

namespace command {
namespace {

using mortise::boot_clock;
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

// A command that cannot be run because a run around it has the name leaves the period to others.
TEST_F(once_command, spends_no_period_on_what_would_wait_for_itself) {
    const line job{"once", "--every", "1h", "report", "--", "echo", "made"};
    line nested{"run", "report", "--", MORTISE_PROGRAM};
    nested.insert(nested.end(), job.begin(), job.end());
    EXPECT_EQ(mortise(nested).code, 64);
    EXPECT_EQ(mortise(job).out, "made\n");
}

TEST_F(once_command, needs_a_period_that_makes_sense) {
    EXPECT_THAT(mortise({"once", "report", "--", "true"}).err, HasSubstr("--every is missing"));
    EXPECT_THAT(mortise({"once", "--every", "0", "report", "--", "true"}).err, HasSubstr("--every less --slack is 0"));
    for (const char* bad : {"-1h", "1000000h", "99999999999999999999h", "nan", "", "1h1h"})
        EXPECT_THAT(mortise({"once", "--every", bad, "report", "--", "true"}).err,
                    HasSubstr("--every '" + line{bad}[0]));
    EXPECT_EQ(mortise({"once", "--every", "1h", "--slack", "2h", "report", "--", "true"}).code, 64);
    EXPECT_EQ(mortise({"once", "--every", "7d", "report", "--", "true"}).code, 64);
    EXPECT_THAT(mortise({"once", "--every", "50ms", "report", "--", "true"}).err,
                HasSubstr("--every less --slack is 45 ms"));
    EXPECT_THAT(mortise({"once", "--store", "memory:", "--every", "1h", "x", "--", "true"}).err, HasSubstr("memory:"));
}

// A node that lacks the command would otherwise take the job away from those that have it.
TEST_F(once_command, spends_no_period_on_a_command_that_is_not_there) {
    const auto once = [&](line words) {
        words.insert(words.begin(), {"once", "--every", "1h", "report", "--"});
        return mortise(words);
    };
    std::ofstream{scratch_ / "no_program"} << "";
    const outcome missing = once({"no-such-command"});
    EXPECT_EQ(missing.code, 127);
    EXPECT_THAT(missing.err, HasSubstr("No such file or directory; the period is left to other nodes"));
    EXPECT_EQ(once({scratch_ / "no_program"}).code, 126);
    EXPECT_EQ(once({scratch_.path()}).code, 126);
    EXPECT_EQ(once({"echo", "made"}).out, "made\n");
}

TEST_F(once_command, can_start_a_daemon) {
    const auto daemon_of = [&](const std::string& name) {
        return "sleep 600 >/dev/null 2>&1 & echo $! > " + (scratch_ / name);
    };
    const auto kill_noted = [&](const std::string& name) { ::kill(std::stoi(content(scratch_ / name)), SIGKILL); };
    EXPECT_EQ(mortise({"once", "--every", "1h", "-oc", "free", daemon_of("free")}).code, 0);
    EXPECT_EQ(mortise({"run", "-n", "free", "--", "true"}).code, 0);
    kill_noted("free");
    child kept = start({"once", "--every", "1h", "-c", "kept", daemon_of("kept")});
    ASSERT_TRUE(eventually_says("kept", "\n"));
    EXPECT_EQ(mortise({"run", "-n", "kept", "--", "true"}).code, 1);
    kill_noted("kept");
    EXPECT_EQ(kept.wait(), 0);
}

// The store stands still. Nobody is left behind who would spend the period later.
TEST_F(once_command, ends_by_a_signal_while_it_claims_the_period) {
    ::mortise::stores::redis::servers::single server;
    tcp_proxy network{server.node().port()};
    ::setenv("MORTISE_STORE", ("redis://127.0.0.1:" + std::to_string(network.port())).c_str(), 1);
    network.freeze();
    const line job{"once", "--every", "1h", "report", "--", "echo", "made"};
    for (const int signal : {SIGTERM, SIGKILL}) {
        child cron = start(job);
        pid_t maker = 0;
        const std::string list =
            "/proc/" + std::to_string(cron.pid()) + "/task/" + std::to_string(cron.pid()) + "/children";
        ASSERT_TRUE(eventually([&] { return std::istringstream{content(list)} >> maker && maker > 0; }, 60s));
        ::kill(cron.pid(), signal);
        EXPECT_EQ(cron.wait(), signal == SIGTERM ? 143 : -SIGKILL);
        const std::string state = "/proc/" + std::to_string(maker) + "/stat";
        EXPECT_TRUE(
            eventually([&] { return content(state).empty() || content(state).find(") Z") != std::string::npos; }, 30s));
    }
    EXPECT_THAT(content(scratch_ / "err"), HasSubstr("'report': a signal came while the period was being claimed"));
    network.thaw();
    EXPECT_EQ(mortise({"list"}).out.find("report"), std::string::npos);
}

// Twenty machines' cron, whose clocks differ by up to a sixtieth of the period: a minute of an hour. A window for which a node was
// late by half of the slack is not judged.
TEST_F(once_command, runs_once_in_each_window_of_a_fleet) {
    const bool in_full = scale(1) > 1;
    const std::size_t windows = std::min<std::size_t>(100, scale(2));
    const int nodes = in_full ? 20 : 4;
    const std::chrono::milliseconds period = in_full ? 3s : 1s;
    const ::mortise::testing::shared_page<std::array<std::atomic<bool>, 100>> lateness{};
    auto& late = *lateness;
    const auto begin = boot_clock::now() + 200ms;
    const auto milliseconds = [](std::chrono::milliseconds some) { return std::to_string(some.count()) + "ms"; };
    const auto cron = [&](int node) {
        for (std::size_t window = 0; window < windows; ++window) {
            ::alarm(60);
            const auto when = begin + period * window + period / 60 * node / nodes;
            std::this_thread::sleep_for(when - boot_clock::now());
            const int code =
                mortise({"once", "--every", milliseconds(period), "--slack", milliseconds(period / 2), "report", "--",
                         "sh", "-c", "echo " + std::to_string(window) + " >> " + (scratch_ / "runs")})
                    .code;
            if (code != 0) return code;
            if (boot_clock::now() - when > period / 4) late[window] = true;
        }
        return 0;
    };
    std::vector<child> all;
    for (int node = 0; node < nodes; ++node) all.emplace_back([&cron, node] { return cron(node); });
    for (child& each : all) EXPECT_EQ(each.wait(600s), 0);
    std::map<std::size_t, int> runs;
    std::istringstream notes{content(scratch_ / "runs")};
    for (std::size_t window = 0; notes >> window;) ++runs[window];
    std::size_t judged = 0;
    for (std::size_t window = 0; window < windows; ++window) {
        if (late[window] || (window > 0 && late[window - 1])) continue;
        ++judged;
        EXPECT_EQ(runs[window], 1) << "window " << window;
    }
    std::cout << judged << " windows of " << windows << " judged, one run in each\n";
    if (judged == 0) GTEST_SKIP() << "no window in which all nodes were in time";
}

class elect_command : public command_suite {
protected:
    line node(int number, const std::string& script) const {
        return {"elect",  "--lease", "2s", "-v", "--label", "node " + std::to_string(number),
                "leader", "--",      "sh", "-c", script};
    }
    // A leader's command: notes its node, its process and its term, and that nobody else's runs.
    line node(int number) const {
        return node(number, "exec 9>" + (scratch_ / "alone") + "; flock -n 9 || echo overlap >> " + (scratch_ / "bad") +
                                "; " + note(number) + "; exec sleep 600");
    }
    std::string note(int number) const {
        return "echo " + std::to_string(number) + " $$ $MORTISE_TOKEN >> " + (scratch_ / "terms");
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
    // How often each kind of trouble is made; all of them if the tests run in full.
    static std::size_t rounds(std::uint64_t usual) { return std::min<std::uint64_t>(50, scale(usual)); }

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
    const std::size_t most = std::max<std::size_t>(6, rounds(50));
    for (std::size_t round = 1; round <= most; ++round) {
        const term leads = await_term(round);
        ASSERT_GE(leads.node, 0);
        if (round % 2 == 0) {
            ::kill(parent_of(leads.command), SIGKILL);  // its wrapper stands again
            continue;
        }
        nodes.erase(leads.node);
        nodes.emplace(leads.node, start(node(leads.node)));
    }
    await_term(most + 1);
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

// HUP has it read its configuration, which is no wish to end; whoever loses the lead after that stands again.
TEST_F(elect_command, stands_again_after_a_command_that_took_no_notice_of_hup) {
    child one =
        start(node(1, "trap 'echo > " + (scratch_ / "read") + "' HUP; " + note(1) + "; while :; do sleep 0.05; done"));
    const term leads = await_term(1);
    ::kill(one.pid(), SIGHUP);
    ASSERT_TRUE(appears("read"));
    std::error_code ec;
    ::mortise::client locks{"host:" + store_};
    EXPECT_TRUE(locks.break_lock("leader", ::mortise::token{leads.token}, "a test", ec)) << ec;
    await_term(2);
    ::kill(one.pid(), SIGTERM);
    EXPECT_EQ(one.wait(), 143);
}

// A command that takes its time to end keeps the lead until it has. It is told as often as mortise is.
TEST_F(elect_command, hands_over_when_the_command_has_ended) {
    const std::string stubborn = "trap 'echo told >> " + (scratch_ / "told") + "' TERM; " + note(1) +
                                 "; while [ ! -e " + (scratch_ / "go") + " ]; do sleep 0.05; done; echo last >> " +
                                 (scratch_ / "terms") + "; exit 9";
    child leader = start(node(1, stubborn));
    await_term(1);
    child next = start(node(2), "out2", "err2");
    ASSERT_TRUE(eventually_says("err2", "node 1"));
    ::kill(leader.pid(), SIGTERM);
    ASSERT_TRUE(eventually_says("told", "told\n"));
    ::kill(leader.pid(), SIGTERM);
    ASSERT_TRUE(eventually_says("told", "told\ntold\n"));
    ::kill(parent_of(terms().at(0).command), SIGTERM);  // the guardian, by its own number
    ASSERT_TRUE(eventually_says("told", "told\ntold\ntold\n"));
    EXPECT_EQ(terms().size(), 1U);
    std::ofstream{scratch_ / "go"} << "";
    EXPECT_EQ(leader.wait(), 9);
    await_term(2);
    EXPECT_THAT(content(scratch_ / "terms"), HasSubstr("last\n2 "));
}

// The lock is gone, and the command has its time to end: a TERM then ends mortise, a KILL all of it at once.
TEST_F(elect_command, ends_by_a_signal_in_the_time_that_its_command_has_to_end) {
    for (const int signal : {SIGTERM, SIGKILL}) {
        const std::string number = std::to_string(signal);
        child leader = start({"elect", "--lease", "20s", "leader", "--", "sh", "-c",
                              "trap 'echo > " + (scratch_ / ("told" + number)) + "' TERM; " + note(signal) +
                                  "; while :; do sleep 0.05; done"});
        const term leads = await_term(signal == SIGTERM ? 1 : 2);
        std::error_code ec;
        ::mortise::client locks{"host:" + store_};
        EXPECT_TRUE(locks.break_lock("leader", ::mortise::token{leads.token}, "a test", ec)) << ec;
        ASSERT_TRUE(appears("told" + number));
        ::kill(leader.pid(), signal);
        EXPECT_EQ(leader.wait(), signal == SIGTERM ? 75 : -SIGKILL);
        EXPECT_TRUE(eventually([&] { return ::kill(leads.command, 0) != 0; }, 30s));
    }
    EXPECT_EQ(terms().size(), 2U);
}

// The process that one sees is stopped, and its node is cut off. The guardian runs on, and ends the command in time.
TEST_F(elect_command, steps_down_in_time_also_while_it_is_stopped) {
    ::mortise::stores::redis::servers::single server;
    tcp_proxy network{server.node().port()};
    ::setenv("MORTISE_STORE", ("redis://127.0.0.1:" + std::to_string(network.port())).c_str(), 1);
    child first = start(node(1));
    const term leads = await_term(1);
    ::setenv("MORTISE_STORE", ("redis://" + server.node().address()).c_str(), 1);
    child second = start(node(2), "out2", "err2");
    ASSERT_TRUE(eventually_says("err2", "node 1"));
    ::kill(first.pid(), SIGSTOP);
    network.freeze();
    EXPECT_EQ(await_term(2).node, 2);
    EXPECT_NE(::kill(leads.command, 0), 0);
    network.thaw();
    ::kill(first.pid(), SIGCONT);
    ASSERT_TRUE(eventually_says("err", "standing for election again"));
    ::kill(second.pid(), SIGKILL);
    EXPECT_EQ(await_term(3).node, 1);
    expect_no_overlap();
    ::kill(first.pid(), SIGTERM);
    EXPECT_EQ(first.wait(), 143);
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
    for (std::size_t round = 1; round <= rounds(2); ++round) {
        const term leads = await_term(round);
        ASSERT_GE(leads.node, 0);
        tcp_proxy& network = networks[static_cast<std::size_t>(leads.node)];
        if (round % 2 == 0) {
            network.freeze();
            await_term(round + 1);
            network.thaw();
        } else {
            network.refuse();
            network.cut();
            await_term(round + 1);
            network.accept();
        }
    }
    expect_no_overlap();
}

// All processes of a node stand still for longer than the lease, as those of a machine that sleeps. When they go on, the guardian
// ends the command; what a command does before that, a resource must refuse by its token.
TEST_F(elect_command, ends_the_command_of_a_leader_that_stood_still) {
    const std::string acts = "; while :; do echo $MORTISE_TOKEN >> " + (scratch_ / "acts") + "; sleep 0.01; done";
    std::deque<child> nodes;
    for (int i = 0; i < 2; ++i) nodes.push_back(start(node(i, note(i) + acts)));
    for (std::size_t round = 1; round <= rounds(2); ++round) {
        const term leads = await_term(round);
        ASSERT_GE(leads.node, 0);
        const pid_t guardian = parent_of(leads.command);
        const pid_t wrapper = nodes[static_cast<std::size_t>(leads.node)].pid();
        ::kill(guardian, SIGSTOP);  // alone: the wrapper has it go on
        ::kill(wrapper, SIGSTOP);
        ::kill(guardian, SIGSTOP);
        ::kill(-leads.command, SIGSTOP);
        await_term(round + 1);
        if (round % 2 == 0) ::kill(guardian, SIGCONT);
        ::kill(wrapper, SIGCONT);  // it tells the guardian to have the command go on
        if (round % 2 == 1) {
            std::this_thread::sleep_for(50ms);
            ::kill(guardian, SIGCONT);
        }
        EXPECT_TRUE(eventually([&] { return ::kill(leads.command, 0) != 0; }, 30s)) << "round " << round;
    }
    std::istringstream lines{content(scratch_ / "acts")};
    std::vector<std::uint64_t> tokens{std::istream_iterator<std::uint64_t>(lines), {}};
    EXPECT_TRUE(std::ranges::is_sorted(tokens)) << "a leader acted in another's term";
    EXPECT_GE(tokens.size(), rounds(1));
}

}  // namespace
}  // namespace command
