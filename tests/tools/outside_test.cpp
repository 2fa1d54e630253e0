// `watch`, `break`, `doctor`, `schema`.
#include "program.hpp"
#include "tools/mortise/changes.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>

namespace command {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

mortise::held_lock lock(const std::string& name, std::uint64_t counter, std::size_t waiting = 0) {
    mortise::held_lock made{.name = name, .waiting = waiting};
    made.holder.token = mortise::token::of(counter, 0);
    return made;
}

std::string told(const std::vector<mortise::held_lock>& before, const std::vector<mortise::held_lock>& after) {
    std::string text;
    for (const lock_change& one : changes(before, after)) {
        text += one.is == lock_change::what::taken ? "+" : one.is == lock_change::what::released ? "-" : "?";
        text += one.lock.name + " ";
    }
    return text;
}

TEST(lock_changes, are_what_was_taken_and_released_and_the_queues) {
    EXPECT_EQ(told({}, {}), "");
    EXPECT_EQ(told({}, {lock("a", 1)}), "+a ");
    EXPECT_EQ(told({lock("a", 1)}, {lock("a", 1)}), "");
    EXPECT_EQ(told({lock("a", 1)}, {}), "-a ");
    EXPECT_EQ(told({lock("a", 1)}, {lock("a", 2)}), "-a +a ") << "another holder";
    EXPECT_EQ(told({lock("a", 1)}, {lock("a", 1, 3)}), "?a ");
    EXPECT_EQ(told({lock("a", 1, 3)}, {lock("a", 2, 3), lock("b", 1)}), "-a +a +b ");
    EXPECT_EQ(told({lock("a", 1), lock("a", 2)}, {lock("a", 1, 1), lock("a", 2, 1)}), "?a ") << "readers share a queue";
}

class outside_command : public command_suite {};

TEST_F(outside_command, watch_in_a_pipe_prints_a_line_for_each_change) {
    mortise::client locks{"host:" + store_, {.label = "nightly"}};
    mortise::hold a = locks.acquire("a");
    child made = start({"watch"});
    ASSERT_TRUE(eventually_says("out", "taken 'a'"));
    EXPECT_THAT(content(scratch_ / "out"),
                MatchesRegex("20..-..-..T..:..:..Z taken 'a' by .* pid [0-9]+ \\(nightly\\), alone, token [0-9]+\n"));
    mortise::hold b = locks.acquire("b");
    EXPECT_TRUE(eventually_says("out", "taken 'b'"));
    a.release();
    EXPECT_TRUE(eventually_says("out", "released 'a'"));
    child waits = start({"hold", "b"}, "other");
    EXPECT_TRUE(eventually_says("out", "queue 'b' 1 waiting"));
    b.release();
    EXPECT_EQ(waits.wait(), 0);
    made.tell(SIGTERM);
    EXPECT_EQ(made.wait(), 0);
    EXPECT_EQ(content(scratch_ / "err"), "");
}

TEST_F(outside_command, watch_tells_machines_of_one_lock_only) {
    mortise::client locks{"host:" + store_};
    const mortise::hold a = locks.acquire("a");
    const mortise::hold b = locks.acquire("b");
    const outcome got = mortise({"watch", "--json", "--for", "1s", "b"});
    EXPECT_EQ(got.code, 0) << got.err;
    EXPECT_THAT(got.out, StartsWith(R"({"name":"b","holder":{"host":)"));
    EXPECT_THAT(got.out, HasSubstr(R"("event":"taken","at":"20)"));
    EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 1);
}

TEST_F(outside_command, watch_of_a_store_that_is_not_there_is_an_error) {
    const outcome got = mortise({"watch", "--for", "1s", "--store", "host:" + (scratch_ / "nowhere/nothing")});
    EXPECT_EQ(got.code, 69);
    EXPECT_THAT(got.err, HasSubstr("nowhere/nothing"));
}

TEST_F(outside_command, breaks_the_hold_that_was_looked_at_and_leaves_a_record) {
    mortise::client locks{"host:" + store_, {.label = "nightly"}};
    const mortise::hold mine = locks.acquire("x");
    const std::string token = mortise::to_string(mine.token());
    const outcome wrong = mortise({"break", "x", "--token", "12345"});
    EXPECT_EQ(wrong.code, 1);
    EXPECT_THAT(wrong.err, HasSubstr("is not held with token 12345"));
    EXPECT_TRUE(mine.valid());
    const outcome got = mortise({"break", "x", "--token", token, "--why", "stuck since Monday"});
    EXPECT_EQ(got.code, 0) << got.err;
    EXPECT_THAT(got.err, MatchesRegex("mortise: broke 'x', held by .* pid [0-9]+ \\(nightly\\), token " + token +
                                      "; by .*: stuck since Monday\n"));
    EXPECT_TRUE(eventually([&] { return !mine.valid(); }));
    EXPECT_THAT(content(store_ + "/record"), HasSubstr("stuck since Monday"));
    EXPECT_EQ(mortise({"break", "x", "--token", token}).code, 1);
    const mortise::hold next = locks.acquire("x");
    EXPECT_GT(next.token(), mine.token());
    const outcome as_json = mortise({"break", "x", "--json", "--token", mortise::to_string(next.token())});
    EXPECT_THAT(as_json.out, StartsWith(R"({"name":"x","token":")" + mortise::to_string(next.token()) + '"'));
}

TEST_F(outside_command, looking_makes_nothing) {
    for (const line& each : {line{"list"}, {"list", "--json"}, {"show", "x"}, {"doctor"}, {"watch", "--for", "0.3"}}) {
        const outcome got = mortise(each);
        EXPECT_EQ(got.code, 0) << each.front() << got.err;
        EXPECT_FALSE(std::filesystem::exists(store_)) << each.front();
    }
    EXPECT_THAT(mortise({"doctor"}).out, HasSubstr("nothing is there yet"));
    std::filesystem::create_directory(store_);
    std::filesystem::permissions(store_, std::filesystem::perms::owner_all);
    EXPECT_EQ(mortise({"list"}).code, 0);
    EXPECT_TRUE(std::filesystem::is_empty(store_));
}

TEST_F(outside_command, a_watch_of_nothing_sees_what_is_made_later) {
    child made = start({"watch", "--for", "20s", "--json"});
    std::this_thread::sleep_for(300ms);
    mortise::client locks{"host:" + store_};
    const mortise::hold held = locks.acquire("late");
    EXPECT_TRUE(eventually([&] { return content(scratch_ / "out").find(R"("name":"late")") != std::string::npos; }));
    made.tell(SIGTERM);
    made.wait();
}

TEST_F(outside_command, the_doctor_finds_a_healthy_store_healthy) {
    static_cast<void>(mortise({"hold", "-n", "x"}));
    const outcome got = mortise({"doctor"});
    EXPECT_EQ(got.code, 0) << got.err;
    EXPECT_THAT(got.out, HasSubstr("good     in " + store_));
    EXPECT_THAT(got.out, HasSubstr("Exclusion ends when:"));
    EXPECT_EQ(got.out.find('\x1b'), got.out.npos) << "no colours in a pipe";
    EXPECT_THAT(mortise({"doctor", "--json"}).out, StartsWith(R"({"grade":"good","what":"in )"));
}

TEST_F(outside_command, the_doctor_names_what_is_wrong_and_what_to_do) {
    static_cast<void>(mortise({"hold", "x"}));
    std::ofstream{store_ + "/locks"} << "not ours";
    const outcome got = mortise({"doctor"});
    EXPECT_EQ(got.code, 69);
    EXPECT_THAT(got.out, HasSubstr("problem"));
    EXPECT_THAT(got.out, HasSubstr("-> "));
}

TEST_F(outside_command, closed_descriptors_do_not_lead_into_the_store) {
    mortise::client locks{"host:" + store_};
    const mortise::hold mine = locks.acquire("k");
    for (const line& each :
         {line{"list"}, {"show", "k"}, {"doctor"}, {"watch", "--for", "0.3"}, {"hold", "-n", "other"}}) {
        for (const std::vector<int>& closed : {std::vector<int>{0, 1}, {1, 2}, {0, 1, 2}, {1}, {2}, {0}}) {
            child made{[&] {
                redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
                redirect(STDOUT_FILENO, "/dev/null", O_WRONLY);
                redirect(STDERR_FILENO, "/dev/null", O_WRONLY);
                for (const int fd : closed) ::close(fd);
                return become(each);
            }};
            made.wait(60s);
            ASSERT_TRUE(mine.valid());
            ASSERT_EQ(mortise({"show", "k"}).code, 0) << each.front() << ": the store is still one";
        }
    }
    EXPECT_EQ(locks.list().size(), 1U);
}

TEST_F(outside_command, a_store_of_one_process_is_refused) {
    for (const line& each : {line{"run", "--store", "memory:", "x", "true"},
                             {"hold", "--store", "memory:", "x"},
                             {"acquire", "--store", "memory:", "x"}}) {
        const outcome got = mortise(each);
        EXPECT_EQ(got.code, 64) << each.front();
        EXPECT_THAT(got.err, HasSubstr("threads of one process")) << each.front();
    }
}

TEST_F(outside_command, the_cause_is_named_where_there_is_no_list) {
    const outcome got = mortise({"list", "--store", "host:" + (scratch_ / "nowhere/nothing")});
    EXPECT_EQ(got.code, 69);
    EXPECT_THAT(got.err, HasSubstr("cannot make it"));
}

// What the guardian has not heard when it ends must not make its end look like a death.
TEST_F(outside_command, further_signals_do_not_change_how_a_run_ends) {
    for (int i = 0; i < 40; ++i) {
        child made =
            start({"run", "x", "--", "sh", "-c", "echo > " + (scratch_ / ("go" + std::to_string(i))) + "; sleep 9"});
        ASSERT_TRUE(appears("go" + std::to_string(i)));
        made.tell(SIGTERM);
        for (int more = 0; more < 3; ++more) {
            std::this_thread::sleep_for(std::chrono::microseconds{i * 100});
            made.tell(SIGHUP);
        }
        const int code = made.wait(60s);
        EXPECT_TRUE(code == 128 + SIGTERM || code == 128 + SIGHUP) << code << content(scratch_ / "err");
    }
}

TEST_F(outside_command, schema_says_that_nothing_is_needed) {
    EXPECT_EQ(mortise({"schema"}).out, "no setup is needed in host:" + store_ + "\n");
    EXPECT_THAT(mortise({"schema", "--json"}).out, HasSubstr(R"("schema":"")"));
}

TEST_F(outside_command, show_and_list_say_what_is_left_of_the_lease) {
    mortise::client locks{"host:" + store_};
    const mortise::hold leased = locks.acquire("leased", {.lease = 1h});
    const mortise::hold lasting = locks.acquire("lasting");
    EXPECT_THAT(mortise({"show", "leased"}).out, MatchesRegex(".*, for [0-9]+ m?s, lease ends in 59 min, token .*\n"));
    EXPECT_THAT(mortise({"show", "lasting"}).out, MatchesRegex(".*, for [0-9]+ m?s, token .*\n"));
    EXPECT_THAT(mortise({"show", "leased", "--json"}).out, MatchesRegex(".*\"lease_left_s\":3[0-9.]+,.*\n"));
    EXPECT_THAT(mortise({"show", "lasting", "--json"}).out, HasSubstr("\"lease_left_s\":null"));
    const std::string table = mortise({"list"}).out;
    EXPECT_THAT(table, HasSubstr("NAME     HOLDER"));
    EXPECT_THAT(table, MatchesRegex("(.|\n)* m?s +- +alone(.|\n)* m?s +59 min +alone(.|\n)*"));
}

TEST_F(outside_command, verbose_names_the_store_and_who_named_it) {
    const std::string shown = "the store is host:" + store_;
    EXPECT_EQ(mortise({"list", "-v"}).err, "mortise: " + shown + ", from MORTISE_STORE\n");
    EXPECT_EQ(mortise({"list", "-v", "--store", "host:" + store_}).err, "mortise: " + shown + ", from --store\n");
    std::ofstream{scratch_ / "conf"} << "store = host:" << store_ << "\n";
    ::unsetenv("MORTISE_STORE");
    ::setenv("MORTISE_CONFIG", (scratch_ / "conf").c_str(), 1);
    EXPECT_EQ(mortise({"list", "-v"}).err, "mortise: " + shown + ", from '" + scratch_ / "conf'\n");
    std::ofstream{scratch_ / "conf"} << "label = x\n";
    EXPECT_EQ(mortise({"schema", "-v"}).err, "mortise: the store is host:, the default\n");
    ::unsetenv("MORTISE_CONFIG");
}

TEST_F(outside_command, verbose_json_is_json) {
    mortise::client locks{"host:" + store_};
    mortise::hold mine = locks.acquire("x");
    child waits = start({"run", "-v", "--json", "x", "--", "true"});
    ASSERT_TRUE(eventually_says("err", "\"event\":\"waiting\""));
    mine.release();
    EXPECT_EQ(waits.wait(60s), 0);
    std::istringstream lines{content(scratch_ / "err")};
    std::string events;
    for (std::string each; std::getline(lines, each);) {
        EXPECT_THAT(each, MatchesRegex("\\{\".*\"event\":\"[a-z]+\"\\}"));
        const std::string event = each.substr(each.rfind("\"event\":\"") + 9);
        if (events.find(event) == events.npos) events += event;
    }
    EXPECT_EQ(events, "store\"}waiting\"}holding\"}ended\"}");
}

TEST_F(outside_command, flocks_options_work) {
    EXPECT_EQ(mortise({"run", "-e", "--timeout", "9s", "-o", "x", "--", "true"}).code, 0);
    mortise::client locks{"host:" + store_};
    const mortise::hold mine = locks.acquire("y");
    EXPECT_EQ(mortise({"run", "--nb", "y", "--", "true"}).code, 1);
    EXPECT_EQ(mortise({"-V"}).out, mortise({"--version"}).out);
}

// Patience is ten seconds: a store that cannot be reached is not asked again and again.
TEST_F(outside_command, a_store_that_cannot_be_reached_is_refused_at_once_by_a_try) {
    for (const char* scheme : {"redis", "etcd", "zookeeper"}) {
        const std::string names = mortise({"list", "--store", "x:"}).err;
        if (names.find(std::string(" ") + scheme) == names.npos) continue;  // not in this build
        const std::string unknown =
            std::string(64, 'x') + ".invalid";  // longer than a name can be: nobody has to be asked
        for (const std::string& host : {std::string("127.0.0.1:1"), unknown}) {
            const std::string store = std::string(scheme) + "://" + host;
            const auto before = std::chrono::steady_clock::now();
            const outcome got = mortise({"run", "-n", "--store", store, "x", "--", "true"});
            EXPECT_EQ(got.code, 69) << store;
            EXPECT_LT(std::chrono::steady_clock::now() - before, 9s) << store;
            EXPECT_THAT(got.err, HasSubstr(host)) << store;
        }
    }
}

}  // namespace
}  // namespace command
