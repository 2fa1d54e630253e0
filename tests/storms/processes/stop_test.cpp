// Processes that are stopped at any moment and woken again: the others go on, or hear who is in the way.
#include "storms/processes/storm.hpp"

#include <algorithm>

namespace mortise::testing {
namespace {

class stop_storm : public process_storm {
protected:
    static constexpr int crowd = 8;

    // The kernel stops a process in its own time; this returns when it has.
    void stop(const worker& one) {
        all_.last_stopped = one.pid;
        ::kill(one.pid, SIGSTOP);
        int status = 0;
        ASSERT_EQ(::waitpid(one.pid, &status, WUNTRACED), one.pid);
        ASSERT_TRUE(WIFSTOPPED(status)) << "pid " << one.pid << " ended";
    }
    void wake(const worker& one) { ::kill(one.pid, SIGCONT); }

    // Stops somebody who then is inside.
    worker* stop_inside() {
        const std::int64_t before = all_.linger.exchange(1'000'000);  // that it can be done at all
        worker* found = nullptr;
        EXPECT_TRUE(eventually(
            [&] {
                worker* const one = somebody_inside();
                if (one == nullptr) return false;
                stop(*one);
                if (all_.inside == arena::code(one->lane, one->pid)) found = one;
                if (found == nullptr) wake(*one);
                return found != nullptr || HasFatalFailure();
            },
            60s))
            << "nobody to be stopped inside";
        all_.linger = before;
        return found;
    }

    // Everybody else is let in, or told that `victim` is in the way if that is enough.
    void stop_until_the_others_were_answered(const worker* found, bool told_is_enough = true) {
        ASSERT_NE(found, nullptr);
        const worker& victim = *found;
        const auto stopped_at = steady_clock::now();
        std::uint64_t before[crowd];
        const auto heard = [&](int lane) -> std::uint64_t {
            return all_.lanes[lane].entries + (told_is_enough ? all_.lanes[lane].named.load() : 0);
        };
        for (int lane = 0; lane < crowd; ++lane) before[lane] = heard(lane);
        for (const worker& other : workers_) {
            if (&other == &victim) continue;
            EXPECT_TRUE(eventually([&] { return heard(other.lane) > before[other.lane]; }, 30s))
                << "pid " << other.pid << " hears nothing while pid " << victim.pid << " is stopped";
        }
        longest_ = std::max(longest_, ms(steady_clock::now() - stopped_at));
        wake(victim);
    }

    worker* stop_anybody() {
        std::this_thread::sleep_for(std::chrono::microseconds{dice_() % 3000});
        worker& one = anybody();
        stop(one);
        return &one;
    }
    void stop_for_a_moment() {
        const worker& one = *stop_anybody();
        std::this_thread::sleep_for(std::chrono::microseconds{dice_() % 20'000});
        wake(one);
    }

    std::uint64_t named() const {
        std::uint64_t sum = 0;
        for (int lane = 0; lane < crowd; ++lane) sum += all_.lanes[lane].named;
        return sum;
    }
    void report(const char* which, std::uint64_t stops, std::uint64_t lasting, steady_clock::time_point begun) const {
        std::cout << which << ": processes=" << crowd << " stops=" << stops << " lasting=" << lasting << figures()
                  << " timeouts=" << all_.timeouts << " store_errors=" << all_.named
                  << " answers_naming_the_stopped=" << named() << " other_errors=" << all_.unnamed
                  << " superseded=" << all_.superseded << " longest_ms_until_all_were_answered=" << longest_
                  << " seconds=" << seconds_since(begun) << "\n";
    }

    double longest_ = 0;
};
EVERY_STORE_OF_PROCESSES(stop_storm);

// Where holds need no lease a stopped holder still holds: what it finds inside on waking is itself, or there is an overlap.
TEST_P(stop_storm, the_others_go_on_or_are_told_who_is_in_the_way) {
    hire_crowd(crowd);
    const std::uint64_t stops = std::max<std::uint64_t>(15, scale(500));
    const std::uint64_t every = std::max<std::uint64_t>(5, stops / 10);
    const auto begun = steady_clock::now();
    std::uint64_t lasting = 0;
    for (std::uint64_t n = 1; n <= stops; ++n) {
        // Every other one of those that last hits whoever is inside, the rest hit anybody, anywhere.
        if (n % every != 0) {
            stop_for_a_moment();
        } else {
            stop_until_the_others_were_answered(lasting++ % 2 == 0 ? stop_inside() : stop_anybody());
        }
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(n % 50 != 0 || everybody_moves("after CONT"));
        if (n % 50 == 0) expect_no_orphans("after CONT");
    }
    EXPECT_TRUE(everybody_moves("after the storm"));
    report("stop", stops, lasting, begun);
    EXPECT_GT(named(), 0u);
    expect_clean_end();
}

// With a lease somebody else gets in, and the stopped one finds on waking that it holds no more.
TEST_P(stop_storm, with_leases_no_two_are_valid_at_once) {
    all_.lease = std::chrono::nanoseconds{300ms}.count();
    hire_crowd(crowd);
    const std::uint64_t stops = std::max<std::uint64_t>(15, where_.by_lease() ? where_.deaths(3000) : scale(300));
    const auto begun = steady_clock::now();
    std::uint64_t lasting = 0;
    for (std::uint64_t n = 1; n <= stops; ++n) {
        if (n % 5 != 0) {
            stop_for_a_moment();
        } else {
            ++lasting;
            stop_until_the_others_were_answered(stop_inside(), false);
        }
        ASSERT_FALSE(HasFatalFailure());
        ASSERT_TRUE(n % 50 != 0 || everybody_moves("after CONT"));
        if (n % 50 == 0) expect_no_orphans("after CONT");
    }
    EXPECT_TRUE(everybody_moves("after the storm"));
    report("stop_with_leases", stops, lasting, begun);
    EXPECT_GT(all_.superseded, 0u) << "nobody was stopped for long enough while inside";
    expect_clean_end();
}

}  // namespace
}  // namespace mortise::testing
