// Servers of a test go with it.
#include "support/server_group.hpp"

#include "support/children.hpp"
#include "support/waiting.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace mortise::testing {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> idle{"sleep", "1000"};

char state_of(pid_t pid) {  // '-' of none
    std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
    std::string text;
    std::getline(in, text);
    const auto name_ends = text.rfind(')');
    return name_ends == text.npos ? '-' : text[name_ends + 2];
}
bool gone(pid_t pid) {
    return state_of(pid) == '-' || state_of(pid) == 'Z';  // whoever inherits it may be slow to take note
}

TEST(server_group, goes_with_its_servers_and_files) {
    pid_t pid = 0;
    pid_t guardian = 0;
    std::string directory;
    {
        const server_group home;
        const server_process one{home, idle, home / "log"};
        std::ofstream{home / "file"} << "x";
        pid = one.pid();
        guardian = home.id();
        directory = home.directory();
        EXPECT_TRUE(one.running());
        EXPECT_TRUE(fs::exists(directory));
        EXPECT_FALSE(gone(guardian));
    }
    EXPECT_TRUE(gone(pid));
    EXPECT_FALSE(fs::exists(directory));
    EXPECT_TRUE(eventually([&] { return gone(guardian); }));
}

TEST(server_group, goes_when_its_process_is_killed_frozen_servers_too) {
    const scratch_directory scratch;
    milestone ready;
    child test{[&] {
        const server_group home;
        const server_process one{home, idle, home / "log"};
        server_process two{home, idle, home / "log"};
        two.freeze();
        std::ofstream{scratch / "note"} << home.directory() << " " << one.pid() << " " << two.pid() << " " << home.id();
        ready.reach();
        ::pause();
        return 0;
    }};
    ASSERT_EQ(ready.await(), 'x');
    std::string directory;
    pid_t one = 0;
    pid_t two = 0;
    pid_t guardian = 0;
    std::ifstream{scratch / "note"} >> directory >> one >> two >> guardian;
    ASSERT_TRUE(fs::exists(directory));
    EXPECT_FALSE(gone(one));
    EXPECT_EQ(state_of(two), 'T');
    std::string command;
    std::getline(std::ifstream{"/proc/" + std::to_string(guardian) + "/cmdline"}, command, '\0');
    EXPECT_TRUE(std::string("mortise-guard").starts_with(command))
        << "who ends tests by their name would end it too: " << command;
    ::kill(guardian, SIGTERM);
    test.kill();
    EXPECT_TRUE(eventually([&] { return gone(one) && gone(two) && gone(guardian); }));
    EXPECT_TRUE(eventually([&] { return !fs::exists(directory); }));
}

TEST(server_group, has_servers_whose_wall_clock_does_not_lie) {
    const char* const told = std::getenv("MORTISE_TEST_WALL");
    const std::string before = told != nullptr ? told : "";
    ::setenv("MORTISE_TEST_WALL", "jump=3600", 1);
    const server_group home;
    const server_process one{home, {"sh", "-c", "echo \"${LD_PRELOAD-}${MORTISE_TEST_WALL-}\""}, home / "log"};
    if (told != nullptr)
        ::setenv("MORTISE_TEST_WALL", before.c_str(), 1);
    else
        ::unsetenv("MORTISE_TEST_WALL");
    EXPECT_TRUE(eventually([&] { return !one.running(); }));
    EXPECT_EQ(one.last_words(), "\n");
}

TEST(server_group, is_not_ended_by_a_forked_copy) {
    const server_group home;
    auto one = std::make_unique<server_process>(home, idle, home / "log");
    child copy{[&] {
        one.reset();
        home.~server_group();
        return 0;
    }};
    EXPECT_EQ(copy.wait(), 0);
    EXPECT_TRUE(one->running());
    EXPECT_TRUE(fs::exists(home.directory()));
}

TEST(server_group, outlives_the_thread_that_started_it) {
    std::unique_ptr<server_group> home;
    std::unique_ptr<server_process> one;
    std::thread{[&] {
        home = std::make_unique<server_group>();
        one = std::make_unique<server_process>(*home, idle, *home / "log");
    }}.join();
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    EXPECT_TRUE(one->running());
    EXPECT_FALSE(gone(home->id()));
}

TEST(server_process, is_killed_started_frozen_and_thawed) {
    const server_group home;
    server_process one{home, idle, home / "log"};
    const pid_t first = one.pid();
    one.kill();
    EXPECT_FALSE(one.running());
    EXPECT_TRUE(gone(first));
    one.start();
    EXPECT_TRUE(one.running());
    EXPECT_EQ(::getpgid(one.pid()), home.id());
    one.freeze();
    EXPECT_EQ(state_of(one.pid()), 'T');
    EXPECT_TRUE(one.running());
    EXPECT_TRUE(one.frozen());
    one.thaw();
    EXPECT_TRUE(eventually([&] { return state_of(one.pid()) != 'T'; }));
    EXPECT_FALSE(one.frozen());
}

TEST(server_process, one_that_ends_by_itself_is_not_running_and_its_words_are_kept) {
    const server_group home;
    const server_process one{home, {"sh", "-c", "echo out; echo no such luck >&2; exit 3"}, home / "log"};
    EXPECT_TRUE(eventually([&] { return !one.running(); }));
    EXPECT_EQ(one.last_words(), "out\nno such luck\n");
    EXPECT_THROW((server_process{home, {"mortise-no-such-program"}, home / "log"}), std::system_error);
}

}  // namespace
}  // namespace mortise::testing
