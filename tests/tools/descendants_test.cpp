// What `run` does with everything the command starts, also in other process groups and sessions.
#include "program.hpp"

#include <mortise/client.hpp>

#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>

namespace command {
namespace {

using ::testing::HasSubstr;

class descendants_of_run : public command_suite {
protected:
    // Notes that it lives, again and again.
    std::string beat() const { return "while :; do date +%s%N >> " + scratch_ / "alive" + "; done"; }

    // A command whose processes sit in four groups and three sessions; one of them is stopped. `extra` goes before the end.
    line scattered(const line& options, const std::string& extra = "") const {
        line all{"run"};
        all.insert(all.end(), options.begin(), options.end());
        all.insert(all.end(),
                   {"x", "--", "sh", "-c",
                    "setsid sh -c '" + beat() + "' & timeout 600 sh -c '" + beat() + "' & setsid sh -c 'echo $$ > " +
                        scratch_ / "still" + "; kill -STOP $$; " + beat() + "' & " + extra + "until [ -s " +
                        scratch_ / "still" + " ] && [ -s " + scratch_ / "alive" + " ]; do sleep 0.02; done; echo > " +
                        scratch_ / "begun" + "; wait"});
        return all;
    }
    // Starts a process in a session of its own, and goes on when it has begun.
    std::string daemon() const {
        const std::string noted = scratch_ / "daemon";
        return "setsid sh -c 'echo $$ > " + noted + "; exec sleep 600' & until [ -s " + noted +
               " ]; do sleep 0.02; done";
    }
    child next_in_line() const {
        child next = start({"run", "x", "--", "sh", "-c", "date +%s%N > " + scratch_ / "next"});
        EXPECT_TRUE(eventually([&] { return !held().empty() && held().front().waiting == 1; }, 60s));
        return next;
    }
    std::vector<mortise::held_lock> held() const {
        mortise::client locks{"host:" + store_};
        return locks.list();
    }
    pid_t guardian() const { return static_cast<pid_t>(held().at(0).holder.pid); }
    long long latest(const std::string& file) const {
        std::ifstream notes{scratch_ / file};
        long long last = 0;
        for (long long each = 0; notes >> each;) last = std::max(last, each);
        return last;
    }
    static bool lives(const std::string& pid) {
        std::string text;
        std::getline(std::ifstream{"/proc/" + pid + "/stat"}, text);
        const std::size_t name_ends = text.rfind(')');
        return name_ends != text.npos && text.at(name_ends + 2) != 'Z' && text.at(name_ends + 2) != 'X';
    }
    std::string noted(const std::string& file) const {
        std::string word;
        std::ifstream{scratch_ / file} >> word;
        return word;
    }
    void expect_all_ended() const {
        const auto size = std::filesystem::file_size(scratch_ / "alive");
        std::this_thread::sleep_for(300ms);
        EXPECT_EQ(std::filesystem::file_size(scratch_ / "alive"), size) << "somebody still lives";
        EXPECT_FALSE(lives(noted("still"))) << "the stopped one";
    }
    void expect_all_ended_before_the_next_began() const {
        expect_all_ended();
        EXPECT_GT(latest("next"), latest("alive"));
    }
};

TEST_F(descendants_of_run, end_with_a_command_that_is_told_to) {
    child first = start(scattered({}));
    ASSERT_TRUE(appears("begun"));
    child next = next_in_line();
    first.tell(SIGTERM);
    EXPECT_EQ(first.wait(60s), 143);
    EXPECT_EQ(next.wait(60s), 0);
    expect_all_ended_before_the_next_began();
}

TEST_F(descendants_of_run, end_before_the_next_begins_when_the_wrapper_is_killed) {
    child first = start(scattered({}));
    ASSERT_TRUE(appears("begun"));
    child next = next_in_line();
    first.tell(SIGKILL);
    EXPECT_EQ(first.wait(60s), -SIGKILL);
    EXPECT_EQ(next.wait(60s), 0);
    expect_all_ended_before_the_next_began();
}

// The store frees the lock of a process that died; the guardian is the one it knows.
TEST_F(descendants_of_run, end_before_the_next_begins_when_the_guardian_is_killed) {
    child first = start(scattered({}));
    ASSERT_TRUE(appears("begun"));
    child next = next_in_line();
    ::kill(guardian(), SIGKILL);
    EXPECT_EQ(first.wait(60s), 75);
    EXPECT_EQ(next.wait(60s), 0);
    expect_all_ended_before_the_next_began();
}

TEST_F(descendants_of_run, end_before_the_lease) {
    child first = start(scattered({"--lease", "6s", "--no-renew"}));
    ASSERT_TRUE(appears("begun"));
    child next = next_in_line();
    EXPECT_EQ(first.wait(60s), 75);
    EXPECT_EQ(next.wait(60s), 0);
    expect_all_ended_before_the_next_began();
}

TEST_F(descendants_of_run, end_when_the_lock_is_broken) {
    child first = start(scattered({}, "setsid sh -c 'trap \"\" TERM HUP; " + beat() + "' & "));
    ASSERT_TRUE(appears("begun"));
    ASSERT_EQ(mortise({"break", "x", "--token", to_string(held().at(0).holder.token)}).code, 0);
    EXPECT_EQ(first.wait(60s), 75);
    expect_all_ended();
}

TEST_F(descendants_of_run, keep_the_lock_when_they_outlive_a_term) {
    child made = start({"run", "x", "--", "sh", "-c",
                        "setsid sh -c 'trap \"\" TERM; echo > " + scratch_ / "begun" + "; while [ ! -e " +
                            scratch_ / "go" + " ]; do sleep 0.05; done' & wait"});
    ASSERT_TRUE(appears("begun"));
    made.tell(SIGTERM);
    std::this_thread::sleep_for(500ms);
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 1);
    std::ofstream{scratch_ / "go"} << "";
    EXPECT_EQ(made.wait(60s), 143);
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 0);
}

TEST_F(descendants_of_run, keep_the_lock_when_the_command_has_ended) {
    child made = start({"run", "x", "--", "sh", "-c", daemon() + "; exit 5"});
    ASSERT_TRUE(eventually_says("daemon", "\n"));
    EXPECT_TRUE(eventually_says("err", "mortise: 'x': the command has ended, but pid " + noted("daemon") +
                                           " (sleep), which it started, still runs and keeps the lock; use -o to "
                                           "release the lock when the command ends\n"))
        << content(scratch_ / "err");
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 1);
    ::kill(std::stoi(noted("daemon")), SIGKILL);
    EXPECT_EQ(made.wait(60s), 5);
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 0);
}

TEST_F(descendants_of_run, run_on_without_the_lock_if_that_was_asked_for) {
    const outcome got = mortise({"run", "-o", "x", "--", "sh", "-c", daemon() + "; exit 5"});
    EXPECT_EQ(got.code, 5);
    EXPECT_TRUE(lives(noted("daemon")));
    EXPECT_EQ(mortise({"run", "-n", "x", "--", "true"}).code, 0);
    ::kill(std::stoi(noted("daemon")), SIGKILL);
}

TEST_F(descendants_of_run, end_with_a_loss_also_with_close) {
    child first = start(scattered({"-o", "--lease", "6s", "--no-renew"}));
    ASSERT_TRUE(appears("begun"));
    EXPECT_EQ(first.wait(60s), 75);
    expect_all_ended();
}

}  // namespace
}  // namespace command
