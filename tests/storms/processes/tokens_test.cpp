// Tokens rise from process to process, also if their wall clocks do not agree.
#include "storms/processes/storm.hpp"

#include <mortise/token.hpp>

#include <string_view>

namespace mortise::testing {
namespace {

class tokens_of_processes : public process_storm {
protected:
    // Of a process that comes, takes the lock and goes; its wall clock is wrong by so many seconds.
    token next(int wrong_by = 0) {
        std::vector<std::string> settings;
        for (char** one = environ; *one != nullptr; ++one)
            if (const std::string_view is = *one;
                !is.starts_with("LD_PRELOAD=") && !is.starts_with("MORTISE_TEST_WALL"))
                settings.emplace_back(is);
#if defined(MORTISE_WALL_CLOCK_SHIM)
        if (wrong_by != 0) {
            settings.emplace_back("LD_PRELOAD=" MORTISE_WALL_CLOCK_SHIM);
            settings.emplace_back("MORTISE_TEST_WALL=offset=" + std::to_string(wrong_by));
        }
#else
        EXPECT_EQ(wrong_by, 0);
#endif
        std::vector<char*> environment;
        for (std::string& one : settings) environment.push_back(one.data());
        environment.push_back(nullptr);
        worker& one = workers_.empty() ? workers_.emplace_back(worker{.what = "return"}) : workers_.front();
        start(one, environment.data());
        int status = 0;
        EXPECT_TRUE(eventually([&] { return ::waitpid(one.pid, &status, WNOHANG) == one.pid; }));
        EXPECT_EQ(status, 0);
        one.gone = true;
        return token{all_.last_token};
    }
};
EVERY_STORE_OF_PROCESSES(tokens_of_processes);

TEST_P(tokens_of_processes, rise_when_everybody_has_left_and_somebody_comes) {
    token last;
    for (int n = 0; n < 5; ++n) {
        const token mine = next();
        EXPECT_GT(mine, last);
        last = mine;
    }
}

TEST_P(tokens_of_processes, rise_when_the_wall_clock_is_set_back) {
#if !defined(MORTISE_WALL_CLOCK_SHIM)
    GTEST_SKIP() << "a sanitizer wants to be loaded first, so the library that bends the clock cannot be";
#endif
    const token ahead = next(3600);
    const token right = next();
    const token behind = next(-3600);
    EXPECT_GT(right, ahead);
    EXPECT_GT(behind, right);
    if (where_.name != "host") return;
    // Its counters follow the clock where that is ahead: it did lie.
    const auto wall = std::chrono::duration_cast<std::chrono::microseconds>(
        (std::chrono::system_clock::now() + 30min).time_since_epoch());
    EXPECT_GT(ahead.counter(), static_cast<std::uint64_t>(wall.count()));
}

}  // namespace
}  // namespace mortise::testing
