// Processes that fork, and that end in every way there is while they hold the lock.
#include "storms/processes/storm.hpp"
#include "support/sanitizers.hpp"

namespace mortise::testing {
namespace {

class ends_storm : public process_storm {};
EVERY_STORE_OF_PROCESSES(ends_storm);

TEST_P(ends_storm, fork_in_the_middle_of_anything) {
    if (under_asan || under_tsan)
        GTEST_SKIP() << "another thread may hold the sanitizer's allocator at fork, and the child hangs in it";
    for (int i = 0; i < 3; ++i) hire(i * 4, "fork", 2);
    const std::uint64_t forks = where_.deaths(600);
    const auto born = [&] {
        std::uint64_t sum = 0;
        for (const worker& one : workers_) sum += all_.lanes[one.lane + 2].attempts;
        return sum;
    };
    EXPECT_TRUE(eventually([&] { return born() >= forks; }, 240s)) << "only " << born() << " children came and went";
    EXPECT_TRUE(everybody_moves("after the forks"));
    std::cout << "fork: processes=3 threads=2 forks=" << born() << figures() << " errors=" << all_.unnamed << "\n";
    expect_clean_end();
}

TEST_P(ends_storm, every_way_to_end_frees_the_lock) {
    const std::uint64_t rounds = where_.deaths(40);
    const std::vector<std::string> ways{"exit", "quick_exit", "_exit", "abort", "return", "pause"};
    for (const std::string& way : ways) workers_.push_back({.lane = static_cast<int>(workers_.size()), .what = way});
    for (std::uint64_t n = 0; n < rounds; ++n) {
        for (worker& one : workers_) start(one);
        for (worker& one : workers_) {
            if (one.what == "pause") continue;
            // "pause" keeps the lock for ever, so it is killed when it has got it.
            worker& sleeper = workers_.back();
            int status = -1;
            EXPECT_TRUE(eventually(
                [&] {
                    if (!sleeper.gone && all_.inside == arena::code(sleeper.lane, sleeper.pid)) murder(sleeper);
                    return ::waitpid(one.pid, &status, WNOHANG) == one.pid;
                },
                120s))
                << one.what;
            EXPECT_EQ(status, one.what == "abort" ? SIGABRT : 0) << one.what;  // any other: it never got in
            one.gone = true;
        }
        if (worker& sleeper = workers_.back(); !sleeper.gone) murder(sleeper);
    }
    std::cout << "ends: ways=" << ways.size() << " rounds=" << rounds << figures() << "\n";
    expect_clean_end();
}

}  // namespace
}  // namespace mortise::testing
