// A job that 20 machines' timers start: clocks up to a sixtieth of the period apart.
#include "patterns/fleet.hpp"
#include "support/shared_page.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/patterns/once_per_period.hpp>

#include <array>
#include <atomic>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class timers : public on_host_and_redis {};
INSTANTIATE_TEST_SUITE_P(locks_on, timers, ::testing::Values("host", "redis"),
                         [](const auto& which) { return std::string(which.param); });

// A machine that is late by more than half of the slack has missed its window, and so does the judge.
TEST_P(timers, of_a_fleet_run_a_job_once_in_each_period) {
    constexpr int machines = 20;
    constexpr std::size_t most_windows = 100;
    constexpr std::chrono::nanoseconds period = 800ms;
    constexpr std::chrono::nanoseconds slack = 400ms;
    const std::size_t windows = std::min<std::size_t>(most_windows, scale(6));
    struct counts {
        std::array<std::atomic<int>, most_windows> runs;
        std::array<std::atomic<bool>, most_windows> missed;
        std::atomic<std::int64_t> last_run;
        std::atomic<int> too_soon;
    };
    const shared_page<counts> seen{};
    const auto begin = boot_clock::now() + 2s;
    crew all{machines, [&](int number) {
                 client locks{url()};
                 once_per_period job{locks, "report", period, {.slack = slack}};
                 for (std::size_t window = 0; window < windows; ++window) {
                     const auto mine = begin + static_cast<int>(window) * period + period / 60 * number / machines;
                     std::this_thread::sleep_for(mine - boot_clock::now());
                     job.try_run([&] {
                         const std::int64_t now = boot_clock::now().time_since_epoch().count();
                         const std::int64_t last = seen->last_run.exchange(now);
                         if (now - last < (job.at_least() / 2).count()) ++seen->too_soon;
                         ++seen->runs[window];
                     });
                     if (boot_clock::now() - mine > slack / 2) seen->missed[window] = true;
                 }
                 return 0;
             }};
    EXPECT_TRUE(all.finish(200s));
    EXPECT_EQ(seen->too_soon, 0);
    std::size_t judged = 0;
    for (std::size_t i = 0; i < windows; ++i) {
        if (seen->missed[i] || (i > 0 && seen->missed[i - 1])) continue;
        ++judged;
        EXPECT_EQ(seen->runs[i], 1) << "window " << i;
    }
    std::cout << judged << " windows of " << windows << " judged, one run in each\n";
}

}  // namespace
}  // namespace mortise::testing
