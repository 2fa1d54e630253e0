// Processes that are killed at any moment: nobody else gets in too early, and somebody always gets in.
#include "storms/processes/storm.hpp"

#include <algorithm>

namespace mortise::testing {
namespace {

class kill_storm : public process_storm {};
EVERY_QUICK_STORE_OF_PROCESSES(kill_storm);

TEST_P(kill_storm, the_next_one_is_let_in_soon_and_nobody_too_soon) {
    constexpr int crowd = 8;
    all_.linger = where_.by_lease() ? 2'000'000 : 100'000;  // so that many die inside
    // A short one, if there are any at all: the page judges by what is valid.
    if (where_.by_lease()) all_.lease = std::chrono::nanoseconds{500ms}.count();
    const auto soon = where_.by_lease() ? where_.frees_the_dead_after + 15s : 30s;
    hire_crowd(crowd);

    // Nobody may be inside for a while, where those who died in line are in the way too.
    const auto look = where_.by_lease() ? 10s : 0s;
    const unsigned pause = where_.by_lease() ? 100'000 : 4000;

    const std::uint64_t kills = where_.deaths(2000);
    std::vector<double> waits;
    std::uint64_t stuck = 0;
    const auto begun = steady_clock::now();
    for (std::uint64_t n = 0; n < kills && stuck == 0; ++n) {
        std::this_thread::sleep_for(std::chrono::microseconds{dice_() % pause});
        worker* victim = nullptr;
        if (n % 2 == 0) static_cast<void>(eventually([&] { return (victim = somebody_inside()) != nullptr; }, look));
        if (victim == nullptr) victim = &anybody();
        const auto killed_at = steady_clock::now();
        const std::uint64_t code = arena::code(victim->lane, victim->pid);
        murder(*victim);
        if (all_.inside == code || all_.taken_from == code) {  // it died inside
            if (eventually([&] { return all_.taken_from == code; }, soon)) {
                waits.push_back(ms(steady_clock::duration{all_.taken_at - killed_at.time_since_epoch().count()}));
            } else {
                ++stuck;
            }
        }
        start(*victim);
        if (n % 200 == 199) expect_no_orphans("after a kill");
    }
    const double seconds = seconds_since(begun);
    EXPECT_EQ(stuck, 0u);
    EXPECT_TRUE(everybody_moves("after the storm"));
    std::sort(waits.begin(), waits.end());
    std::cout << "kill: processes=" << crowd << " kills=" << kills << " inside=" << waits.size() << figures()
              << " stuck=" << stuck << " next_grant_ms_median=" << (waits.empty() ? 0 : waits[waits.size() / 2])
              << " max=" << (waits.empty() ? 0 : waits.back()) << " seconds=" << seconds << "\n";
    EXPECT_GT(waits.size(), 0u);
    expect_clean_end();
}

// The page does see an overlap: these processes share a name, but no store.
class storm_specimen : public storm {
protected:
    storm_specimen() : storm({.name = "memory", .address = "memory:"}) {}
};

TEST_F(storm_specimen, a_store_of_one_process_is_convicted) {
    all_.linger = 100'000;
    for (int lane = 0; lane < 2; ++lane) hire(lane, "loop");
    EXPECT_TRUE(eventually([&] { return all_.overlaps > 0; }));
}

TEST_F(storm_specimen, a_store_of_one_process_is_convicted_by_tokens_that_are_valid_at_once) {
    all_.linger = 100'000;
    all_.lease = std::chrono::nanoseconds{10s}.count();
    for (int lane = 0; lane < 2; ++lane) hire(lane, "loop");
    EXPECT_TRUE(eventually([&] { return all_.overlaps > 0; }));
}

}  // namespace
}  // namespace mortise::testing
