// `mortise run` as scripts use it.
#include "program.hpp"
#include "tools/mortise/descendants.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <gmock/gmock.h>

namespace command {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class run_command : public command_suite {
protected:
    // A command that says `file` when it runs and stays until killed.
    static line until_killed(const std::string& name, const std::string& file, const line& options = {}) {
        line all{"run"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(), {name, "--", "sh", "-c", "echo $$ > " + file + "; exec sleep 600"});
        return all;
    }
    // The largest of the times that commands noted in a file, one a line.
    long long latest(const std::string& file) const {
        std::ifstream notes{scratch_ / file};
        long long last = 0;
        for (long long each = 0; notes >> each;) last = std::max(last, each);
        return last;
    }
    std::vector<mortise::held_lock> held() const {
        mortise::client locks{"host:" + store_};
        return locks.list();
    }
};

TEST_F(run_command, the_exit_status_is_the_commands) {
    EXPECT_EQ(mortise({"run", "x", "--", "true"}).code, 0);
    EXPECT_EQ(mortise({"run", "x", "--", "sh", "-c", "exit 7"}).code, 7);
    EXPECT_EQ(mortise({"run", "x", "--", "sh", "-c", "kill -9 $$"}).code, 137);
    EXPECT_EQ(mortise({"run", "-c", "x", "exit 3"}).code, 3);
    const outcome missing = mortise({"run", "x", "--", "no-such-program"});
    EXPECT_EQ(missing.code, 127);
    EXPECT_EQ(missing.err, "mortise: cannot run 'no-such-program': No such file or directory\n");
    EXPECT_EQ(mortise({"run", "--json", "x", "--", "no-such-program"}).err,
              "{\"error\":\"cannot run 'no-such-program': No such file or directory\",\"exit\":127}\n");
    EXPECT_EQ(mortise({"run", "x", "--", scratch_.path()}).code, 126);
    EXPECT_TRUE(held().empty());
}

TEST_F(run_command, the_command_knows_what_it_holds) {
    const outcome got =
        mortise({"run", "a name", "--", "sh", "-c", "echo $MORTISE_NAME,$MORTISE_TOKEN,$MORTISE_HOLDER"});
    EXPECT_THAT(got.out, MatchesRegex("a name,[0-9]+,[^:,]+:[0-9]+\n"));
    EXPECT_EQ(got.err, "") << "nothing to say, nothing said";
}

TEST_F(run_command, the_command_inherits_nothing_of_ours) {
    // SigQ is left out: it counts the signals of all processes of the user.
    const std::string look = "ls /proc/self/fd | tr '\\n' ' '; grep 'Sig[^Q]' /proc/self/status";
    const outcome plain = mortise({"run", "x", "--", "sh", "-c", look});
    child bare{[&] {
        redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
        redirect(STDOUT_FILENO, scratch_ / "bare", O_WRONLY | O_CREAT);
        redirect(STDERR_FILENO, scratch_ / "bare-err", O_WRONLY | O_CREAT);
        ::execlp("sh", "sh", "-c", look.c_str(), nullptr);
        return 98;
    }};
    ASSERT_EQ(bare.wait(), 0);
    EXPECT_EQ(plain.out, content(scratch_ / "bare")) << "descriptors, masks, dispositions";
}

TEST_F(run_command, input_is_passed_on) {
    std::ofstream{scratch_ / "in"} << "hello";
    child made{[&] {
        redirect(STDIN_FILENO, scratch_ / "in", O_RDONLY);
        redirect(STDOUT_FILENO, scratch_ / "out", O_WRONLY | O_CREAT);
        return become({"run", "x", "--", "cat"});
    }};
    EXPECT_EQ(made.wait(), 0);
    EXPECT_EQ(content(scratch_ / "out"), "hello");
}

TEST_F(run_command, two_at_once_take_turns_and_tokens_rise) {
    const std::string note = "echo begin $MORTISE_TOKEN >> " + scratch_ / "notes" +
                             "; sleep 0.2; echo end $MORTISE_TOKEN >> " + scratch_ / "notes";
    child first = start({"run", "-w", "60s", "deploy", "--", "sh", "-c", note});
    child second = start({"run", "-w", "60s", "deploy", "--", "sh", "-c", note});
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(second.wait(), 0);
    std::ifstream notes{scratch_ / "notes"};
    std::string b1, e1, b2, e2;
    std::uint64_t t1 = 0, t2 = 0, t3 = 0, t4 = 0;
    notes >> b1 >> t1 >> e1 >> t2 >> b2 >> t3 >> e2 >> t4;
    EXPECT_EQ(b1 + e1 + b2 + e2, "beginendbeginend");
    EXPECT_EQ(t1, t2);
    EXPECT_EQ(t3, t4);
    EXPECT_LT(t1, t3);
}

TEST_F(run_command, busy_names_the_holder) {
    child holder = start(until_killed("deploy", scratch_ / "pid", {"--label", "night shift"}));
    ASSERT_TRUE(appears("pid"));
    const outcome busy = mortise({"run", "-n", "deploy", "--", "true"});
    EXPECT_EQ(busy.code, 1);
    char host[256]{};
    ::gethostname(host, sizeof host - 1);
    EXPECT_THAT(busy.err,
                MatchesRegex("mortise: 'deploy' is held by [^ ]+ pid [0-9]+ \\(night shift\\), for [0-9]+ m?s; "
                             "use -w T to wait\n"))
        << "it has not queued, so it has no place";
    EXPECT_THAT(busy.err, HasSubstr(host));
    EXPECT_EQ(mortise({"run", "-n", "-E", "42", "deploy", "--", "true"}).code, 42);
    const outcome late = mortise({"run", "-w", "200ms", "-E", "0", "deploy", "--", "touch", scratch_ / "ran"});
    EXPECT_EQ(late.code, 0);
    EXPECT_THAT(late.err, HasSubstr("the wait timed out"));
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "ran"));
    EXPECT_THAT(mortise({"run", "-n", "--json", "deploy", "--", "true"}).err,
                AllOf(HasSubstr(R"("label":"night shift")"), HasSubstr(R"("exit":1)"), HasSubstr(R"("token":")")));
    holder.tell(SIGTERM);
    EXPECT_EQ(holder.wait(), 143);
}

TEST_F(run_command, readers_share_writers_do_not_permits_count) {
    child reader = start(until_killed("book", scratch_ / "r", {"-s"}));
    ASSERT_TRUE(appears("r"));
    EXPECT_EQ(mortise({"run", "-ns", "book", "--", "true"}).code, 0);
    EXPECT_EQ(mortise({"run", "-nx", "book", "--", "true"}).code, 1);
    const outcome other = mortise({"run", "-n", "book", "--", "true"});
    EXPECT_EQ(other.code, 64) << other.err;

    child two = start(until_killed("pool", scratch_ / "p", {"--permits", "2/3"}));
    ASSERT_TRUE(appears("p"));
    EXPECT_EQ(mortise({"run", "-n", "--permits", "1/3", "pool", "--", "true"}).code, 0);
    EXPECT_EQ(mortise({"run", "-n", "--permits", "2/3", "pool", "--", "true"}).code, 1);
    for (child* each : {&reader, &two}) {
        each->tell(SIGTERM);
        EXPECT_EQ(each->wait(), 143);
    }
}

TEST_F(run_command, signals_are_passed_on) {
    for (const auto& [signal, word] : {std::pair{SIGINT, "INT"},
                                       {SIGTERM, "TERM"},
                                       {SIGHUP, "HUP"},
                                       {SIGQUIT, "QUIT"},
                                       {SIGUSR1, "USR1"},
                                       {SIGUSR2, "USR2"},
                                       {SIGWINCH, "WINCH"}}) {
        const std::string ready = scratch_ / (std::string("ready-") + word);
        child made = start(
            {"run", "x", "--", "sh", "-c",
             std::string("trap 'echo got; exit 9' ") + word + "; touch " + ready + "; while :; do sleep 0.02; done"});
        ASSERT_TRUE(appears(std::string("ready-") + word));
        made.tell(signal);
        EXPECT_EQ(made.wait(), 9) << word;
    }
}

TEST_F(run_command, what_the_command_leaves_in_the_background_keeps_the_lock) {
    child made = start(
        {"run", "x", "--", "sh", "-c",
         "(while [ ! -e " + scratch_ / "go" + " ]; do sleep 0.02; done) & touch " + scratch_ / "left" + "; exit 5"});
    ASSERT_TRUE(appears("left"));
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 1);
    std::ofstream{scratch_ / "go"} << "";
    EXPECT_EQ(made.wait(), 5);
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 0);
}

// Everything of the group is dead before the next holder starts: each process of it notes that it lives, again and again, and
// the next holder notes when it began.
TEST_F(run_command, the_group_of_a_killed_wrapper_ends_before_the_next_starts) {
    const std::string alive = scratch_ / "alive";
    const std::string beat = "while :; do date +%s%N >> " + alive + "; done";
    child first = start({"run", "x", "--", "sh", "-c",
                         "(" + beat + ") & (trap '' TERM HUP; " + beat + ") & (sh -c '" + beat + "' &) ; touch " +
                             scratch_ / "begun" + "; " + beat});
    ASSERT_TRUE(appears("begun"));
    child next = start({"run", "x", "--", "sh", "-c", "date +%s%N > " + scratch_ / "next"});
    EXPECT_TRUE(eventually([&] { return !held().empty() && held().front().waiting == 1; }));

    const auto killed = std::chrono::steady_clock::now();
    ::kill(first.pid(), SIGKILL);
    EXPECT_EQ(next.wait(60s), 0);
    const auto took = std::chrono::steady_clock::now() - killed;
    std::cout << "next_holder_done_after_ms=" << std::chrono::duration<double, std::milli>(took).count() << "\n";
    EXPECT_EQ(first.wait(), -SIGKILL);

    const std::uintmax_t size = std::filesystem::file_size(alive);
    std::this_thread::sleep_for(200ms);
    EXPECT_EQ(std::filesystem::file_size(alive), size) << "somebody still lives";
    EXPECT_GT(latest("next"), latest("alive"));
}

TEST_F(run_command, the_command_ends_with_a_killed_guardian) {
    child made = start({"run", "x", "--", "sh", "-c",
                        "sleep 600 & echo $! > " + scratch_ / "other" + "; echo $$ > " + scratch_ / "pid" + "; wait"});
    ASSERT_TRUE(eventually_says("pid", "\n"));
    const auto guardian = static_cast<pid_t>(held().front().holder.pid);
    ASSERT_NE(guardian, made.pid());
    const auto lives = [this](const std::string& file) {
        const auto found = process_at(std::stoi(content(scratch_ / file)));
        return found && !found->ended();
    };
    ASSERT_TRUE(lives("pid") && lives("other"));
    ::kill(guardian, SIGKILL);
    EXPECT_EQ(made.wait(), 75);
    EXPECT_FALSE(lives("pid"));
    EXPECT_FALSE(lives("other"));
    EXPECT_THAT(content(scratch_ / "err"), HasSubstr("the process that held the lock was killed"));
}

TEST_F(run_command, an_interrupted_wait_leaves_nobody_in_the_queue) {
    child holder = start(until_killed("x", scratch_ / "pid"));
    ASSERT_TRUE(appears("pid"));
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
        child waiter = start({"run", "x", "--", "true"});
        ASSERT_TRUE(eventually([&] { return held().front().waiting == 1; }));
        waiter.tell(signal);
        EXPECT_EQ(waiter.wait(), signal == SIGKILL ? -SIGKILL : 128 + signal);
        EXPECT_TRUE(eventually([&] { return held().front().waiting == 0; }));
    }
    holder.tell(SIGTERM);
    EXPECT_EQ(holder.wait(), 143);
}

// SIGSTOP cannot be noticed by whom it stops.
TEST_F(run_command, a_wrapper_that_is_stopped_while_waiting_passes_its_turn_on) {
    mortise::client locks{"host:" + store_};
    mortise::hold mine = locks.acquire("x");
    child stopped = start({"run", "x", "--", "sh", "-c", "echo > " + scratch_ / "ran"});
    ASSERT_TRUE(eventually([&] { return held().front().waiting == 1; }, 60s));
    stopped.tell(SIGSTOP);
    ASSERT_TRUE(stopped.stopped());
    mine.release();
    EXPECT_EQ(mortise({"run", "-w", "60s", "x", "--", "true"}).code, 0);
    EXPECT_TRUE(eventually([&] { return held().empty(); }, 30s));
    EXPECT_FALSE(std::filesystem::exists(scratch_ / "ran")) << "a stopped job does nothing";
    stopped.tell(SIGCONT);
    EXPECT_EQ(stopped.wait(60s), 0);
    EXPECT_TRUE(std::filesystem::exists(scratch_ / "ran"));
}

// A script has no terminal that would stop it as a whole, and nobody who would continue it.
TEST_F(run_command, a_stop_that_was_meant_for_it_alone_stops_no_other_of_its_group) {
    mortise::client locks{"host:" + store_};
    mortise::hold mine = locks.acquire("x");
    for (const std::string name : {"x", "free"}) {  // while it waits, and while its command runs
        const std::string alive = scratch_ / ("alive-" + name);
        child script{[&] {
            ::setpgid(0, 0);
            ::setenv("MORTISE_STORE", ("host:" + store_).c_str(), 1);
            const std::string lines = std::string("\"") + MORTISE_PROGRAM + "\" run -w 60s " + name +
                                      " -- sleep 3 & q=$!; sleep 1; kill -TSTP $q; sleep 1; echo > " + alive +
                                      "; kill -CONT $q; kill $q; wait $q; true";
            ::execlp("sh", "sh", "-c", lines.c_str(), nullptr);
            return 98;
        }};
        EXPECT_EQ(script.wait(60s), 0) << name;
        EXPECT_TRUE(std::filesystem::exists(alive)) << name;
    }
}

// It would be granted the lock all the same, and keep it for as long as it is stopped.
TEST_F(run_command, a_guardian_that_is_stopped_is_continued) {
    mortise::client locks{"host:" + store_};
    mortise::hold mine = locks.acquire("x");
    child made = start({"run", "x", "--", "true"});
    ASSERT_TRUE(eventually([&] { return held().front().waiting == 1; }, 60s));
    const std::string children = "/proc/" + std::to_string(made.pid()) + "/task/" + std::to_string(made.pid());
    pid_t guardian = 0;
    std::ifstream{children + "/children"} >> guardian;
    ASSERT_GT(guardian, 0);
    ::kill(guardian, SIGSTOP);
    mine.release();
    EXPECT_EQ(made.wait(60s), 0);
}

TEST_F(run_command, a_wait_for_itself_is_refused) {
    for (const line& options : {line{}, {"-w", "60s"}, {"-n"}}) {
        line inner{MORTISE_PROGRAM, "run"};
        inner.insert(inner.end(), options.begin(), options.end());
        inner.insert(inner.end(), {"x", "--", "true"});
        line all{"run", "x", "--"};
        all.insert(all.end(), inner.begin(), inner.end());
        const outcome got = mortise(all);
        EXPECT_EQ(got.code, 64) << got.err;
        EXPECT_THAT(got.err, MatchesRegex("mortise: 'x' is held by the `mortise run` that runs this command "
                                          "\\([^ ]+ pid [0-9]+\\), so it would wait for itself; .*\n"));
    }
    EXPECT_EQ(
        mortise({"run", "x", "--", MORTISE_PROGRAM, "run", "y", "--", MORTISE_PROGRAM, "run", "x", "--", "true"}).code,
        64)
        << "not only the innermost counts";
    const std::string bare = "env -i " MORTISE_PROGRAM " run --store host:" + store_ + " x -- true; exit $?";
    EXPECT_EQ(mortise({"run", "x", "--", "sh", "-c", bare}).code, 64) << "nor need the environment be passed on";
    EXPECT_EQ(mortise({"run", "-s", "x", "--", MORTISE_PROGRAM, "run", "-x", "x", "--", "true"}).code, 64);
    EXPECT_EQ(mortise({"run", "x", "--", MORTISE_PROGRAM, "hold", "x"}).code, 64);
}

TEST_F(run_command, runs_may_be_nested_where_that_makes_sense) {
    const std::string other = "host:" + scratch_ / "other";
    const auto both = [&](const line& outer, const line& inner) {
        line all{"run"};
        all.insert(all.end(), outer.begin(), outer.end());
        all.insert(all.end(), {"x", "--", MORTISE_PROGRAM, "run", "-w", "60s"});
        all.insert(all.end(), inner.begin(), inner.end());
        all.insert(all.end(), {"--", "true"});
        return mortise(all).code;
    };
    EXPECT_EQ(both({}, {"y"}), 0) << "another name";
    EXPECT_EQ(both({}, {"--store", other, "x"}), 0) << "another store";
    EXPECT_EQ(both({"-s"}, {"-s", "x"}), 0) << "two readers";
    EXPECT_EQ(both({"--permits", "1/3"}, {"--permits", "2/3", "x"}), 0) << "there are as many";
    EXPECT_EQ(both({"--permits", "2/3"}, {"--permits", "2/3", "x"}), 64) << "there never are as many";
}

TEST_F(run_command, a_nested_run_may_wait_for_others) {
    child other = start(until_killed("pool", scratch_ / "pid", {"--permits", "1/2"}));
    ASSERT_TRUE(appears("pid"));
    child made = start(
        {"run", "--permits", "1/2", "pool", "--", MORTISE_PROGRAM, "run", "--permits", "1/2", "pool", "--", "true"});
    ASSERT_TRUE(eventually([&] { return held().size() == 2 && held().front().waiting == 1; }, 60s));
    other.tell(SIGTERM);
    EXPECT_EQ(made.wait(60s), 0);
}

// What the command leaves behind with -o may line up for the lock that its run is about to release.
TEST_F(run_command, what_is_left_behind_may_wait_for_the_run_that_left_it) {
    const outcome got = mortise({"run", "-o", "x", "--", "sh", "-c",
                                 "(" MORTISE_PROGRAM " run x -- touch " + scratch_ / "later" + " &) ; exit 3"});
    EXPECT_EQ(got.code, 3);
    EXPECT_TRUE(appears("later"));
}

TEST_F(run_command, a_command_that_outstays_its_lease_is_killed_before_the_lease_ends) {
    const std::string beat = scratch_ / "beat";
    child made = start({"run", "--lease", "10s", "--no-renew", "x", "--", "sh", "-c",
                        "trap 'echo told >> " + scratch_ / "told" + "' TERM; touch " + scratch_ / "begun" +
                            "; while :; do date +%s%N >> " + beat + "; done"});
    ASSERT_TRUE(appears("begun"));
    // It waits for the lease, and begins when the store has ended it or the guardian has released it.
    EXPECT_EQ(mortise({"run", "x", "--", "sh", "-c", "date +%s%N > " + scratch_ / "next"}).code, 0);
    EXPECT_EQ(made.wait(), 75);
    EXPECT_EQ(content(scratch_ / "told"), "told\n");
    EXPECT_THAT(content(scratch_ / "err"), HasSubstr("the lease ends"));
    EXPECT_GT(latest("beat"), 0);
    EXPECT_GT(latest("next"), latest("beat"));
}

TEST_F(run_command, a_renewed_lease_disturbs_nobody) {
    const outcome got = mortise({"run", "--lease", "3s", "x", "--", "sleep", "4"});
    EXPECT_EQ(got.code, 0) << got.err;
    EXPECT_EQ(got.err, "");
}

TEST_F(run_command, a_broken_store_address_is_the_configurations_fault) {
    EXPECT_EQ(mortise({"run", "--store", "nosuch:", "x", "--", "true"}).code, 78);
    EXPECT_EQ(mortise({"run", "--store", "host:/proc/nowhere", "x", "--", "true"}).code, 69);
    EXPECT_EQ(mortise({"run", "", "--", "true"}).code, 64);
}

}  // namespace
}  // namespace command
