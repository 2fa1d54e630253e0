// The stories, played by the program as people start it.
#include "support/children.hpp"
#include "support/waiting.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct outcome {
    int code = -1;
    std::string out{};
};

// The program with these arguments. `meanwhile` is told its process.
template <class Meanwhile>
outcome played(std::vector<std::string> arguments, Meanwhile meanwhile) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        std::string program = MORTISE_LAB;
        std::vector<char*> line{program.data()};
        for (std::string& each : arguments) line.push_back(each.data());
        line.push_back(nullptr);
        ::execv(line[0], line.data());
        ::_exit(127);
    }
    ::close(ends[1]);
    outcome got;
    {
        std::jthread beside([&](const std::stop_token& over) { meanwhile(pid, over); });
        std::array<char, 4096> room{};
        for (ssize_t size = 0; (size = ::read(ends[0], room.data(), room.size())) > 0;)
            got.out.append(room.data(), static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
    int status = 0;
    ::waitpid(pid, &status, 0);
    got.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return got;
}

outcome played(std::vector<std::string> arguments) {
    return played(std::move(arguments), [](pid_t, const std::stop_token&) {});
}

std::vector<pid_t> actors_of(pid_t program) {
    std::ifstream list{"/proc/" + std::to_string(program) + "/task/" + std::to_string(program) + "/children"};
    std::vector<pid_t> all;
    for (pid_t each = 0; list >> each;) {
        std::error_code gone;
        const auto runs = std::filesystem::read_symlink("/proc/" + std::to_string(each) + "/exe", gone);
        if (!gone && runs == std::filesystem::path{MORTISE_LAB}) all.push_back(each);
    }
    return all;
}

TEST(lab, every_story_goes_as_it_is_told) {
    const outcome first = played({"run", "--all"});
    EXPECT_EQ(first.code, 0) << first.out;
    for (std::uint64_t again = 1; again < mortise::testing::scale(2); ++again)
        EXPECT_EQ(played({"run", "--all"}).out, first.out);
}

// Whoever is stopped goes on where it was: no story depends on how fast anybody is.
TEST(lab, actors_that_are_stopped_at_random_change_nothing) {
    const std::string calm = played({"run", "--all"}).out;
    std::atomic<int> stops = 0;
    const auto stop_some = [&](pid_t program, const std::stop_token& over) {
        std::mt19937 dice{7};
        while (!over.stop_requested() && stops < 300) {
            for (const pid_t each : actors_of(program)) {
                if (dice() % 2 == 0 || ::kill(each, SIGSTOP) != 0) continue;
                ++stops;
                std::this_thread::sleep_for(std::chrono::milliseconds{dice() % 4});
                ::kill(each, SIGCONT);
            }
        }
    };
    EXPECT_EQ(played({"run", "--all"}, stop_some).out, calm);
    EXPECT_GT(stops, 20);
}

// A story whose broken lock is replaced by one that holds must say so: else it would pass whatever the lock did.
TEST(lab, a_story_notices_a_lock_that_holds) {
    const outcome got = played({"run", "--all", "--swap", "--json"});
    EXPECT_EQ(got.code, 1);
    std::istringstream lines{got.out};
    int stories = 0;
    for (std::string line; std::getline(lines, line); ++stories) {
        const bool shown_holding = line.find(R"("expected":"it holds")") != line.npos;
        EXPECT_NE(line.find(shown_holding ? R"("verdict":"ok")" : R"("verdict":"DIFFERENT")"), line.npos) << line;
    }
    EXPECT_GE(stories, 30);
}

TEST(lab, a_story_that_does_not_exist_is_named) {
    EXPECT_EQ(played({"run", "setnx-then-expires"}).code, 64);
}

// Time is the director's. A sleep would hope.
TEST(lab, nothing_in_it_sleeps) {
    int files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(std::string(MORTISE_SOURCE_DIR) + "/lab")) {
        if (each.path().extension() != ".cpp" && each.path().extension() != ".hpp") continue;
        ++files;
        std::stringstream text;
        text << std::ifstream{each.path()}.rdbuf();
        for (const char* call : {"sleep(", "sleep_for(", "sleep_until("})
            EXPECT_EQ(text.str().find(call), std::string::npos) << each.path() << ": " << call;
    }
    EXPECT_GT(files, 50);
}

}  // namespace
