#include "base/told_span.hpp"

#include <mortise/boot_clock.hpp>
#include <mortise/duration.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

#include <gtest/gtest.h>

namespace mortise {
namespace {

using namespace std::chrono_literals;
using detail::bounded;
using detail::for_ever;
using detail::until;
using std::chrono::duration;
using std::chrono::nanoseconds;

using real_seconds = duration<double>;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

TEST(bounded, keeps_ordinary_durations) {
    EXPECT_EQ(bounded(1ns), 1ns);
    EXPECT_EQ(bounded(200ms), 200ms);
    EXPECT_EQ(bounded(30s), 30s);
    EXPECT_EQ(bounded(24h), 24h);
    EXPECT_EQ(bounded(real_seconds{0.5}), 500ms);
    EXPECT_EQ(bounded(duration<int, std::ratio<1, 60>>{90}), 1500ms);
    static_assert(bounded(5ms) == 5ms);
}

TEST(bounded, makes_negative_and_not_a_number_zero) {
    EXPECT_EQ(bounded(0s), 0ns);
    EXPECT_EQ(bounded(-1ns), 0ns);
    EXPECT_EQ(bounded(nanoseconds::min()), 0ns);
    EXPECT_EQ(bounded(std::chrono::hours::min()), 0ns);
    EXPECT_EQ(bounded(real_seconds{-0.0}), 0ns);
    EXPECT_EQ(bounded(real_seconds{-infinity}), 0ns);
    EXPECT_EQ(bounded(real_seconds{not_a_number}), 0ns);
}

TEST(bounded, makes_a_century_for_ever_whatever_the_unit) {
    EXPECT_EQ(bounded(nanoseconds::max()), for_ever);
    EXPECT_EQ(bounded(std::chrono::seconds::max()), for_ever);
    EXPECT_EQ(bounded(std::chrono::hours::max()), for_ever);
    EXPECT_EQ(bounded(std::chrono::years{100000}), for_ever);
    EXPECT_EQ(bounded(duration<std::int64_t, std::giga>::max()), for_ever);
    EXPECT_EQ(bounded(duration<std::uint64_t, std::nano>::max()), for_ever);
    EXPECT_EQ(bounded(real_seconds{infinity}), for_ever);
    EXPECT_EQ(bounded(real_seconds::max()), for_ever);
    EXPECT_EQ(bounded(for_ever), for_ever);
    EXPECT_EQ(bounded(for_ever - 1h), for_ever - 1h);
}

TEST(bounded, keeps_a_positive_wait_positive) {
    EXPECT_EQ(bounded(duration<std::int64_t, std::pico>{1}), 1ns);
    EXPECT_EQ(bounded(duration<std::int64_t, std::atto>::max()), 9223372037ns);
    EXPECT_EQ(bounded(real_seconds{1e-12}), 1ns);
    EXPECT_EQ(bounded(real_seconds{std::numeric_limits<double>::denorm_min()}), 1ns);
}

TEST(for_ever, leaves_room_to_be_added_to_a_time) {
    EXPECT_GT(boot_clock::time_point{} + 24h * 365 * 100 + for_ever, boot_clock::time_point{});
}

// A clock that says what it is told, with the resolution and range of a real one.
struct told_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<told_clock>;
    [[maybe_unused]] static constexpr bool is_steady = false;

    static time_point now() noexcept { return told; }
    inline static time_point told{};
};

class until_test : public ::testing::Test {
protected:
    void SetUp() override { told_clock::told = told_clock::time_point{std::chrono::hours{24 * 365 * 56}}; }

    const told_clock::time_point& now = told_clock::told;
};

TEST_F(until_test, is_what_is_left) {
    EXPECT_EQ(until(now + 5s), 5s);
    EXPECT_EQ(until(now + 1us), 1us);
    EXPECT_EQ(until(std::chrono::time_point_cast<std::chrono::hours>(now) + 2h), 2h);
    EXPECT_EQ(until(std::chrono::time_point<told_clock, real_seconds>(now) + real_seconds{0.5}), 500ms);
}

TEST_F(until_test, is_zero_in_the_past) {
    EXPECT_EQ(until(now), 0ns);
    EXPECT_EQ(until(now - 1ns), 0ns);
    EXPECT_EQ(until(told_clock::time_point{}), 0ns);
    EXPECT_EQ(until(told_clock::time_point::min()), 0ns);
    EXPECT_EQ(until(std::chrono::time_point<told_clock, std::chrono::hours>::min()), 0ns);
    EXPECT_EQ(until(std::chrono::time_point<told_clock, real_seconds>(real_seconds{not_a_number})), 0ns);
}

TEST_F(until_test, is_for_ever_when_absurd) {
    EXPECT_EQ(until(told_clock::time_point::max()), for_ever);
    EXPECT_EQ(until(std::chrono::time_point<told_clock, std::chrono::hours>::max()), for_ever);
    EXPECT_EQ(until(std::chrono::time_point<told_clock, real_seconds>(real_seconds{infinity})), for_ever);
    told_clock::told = told_clock::time_point::min() + 1s;  // deadline - now alone would overflow
    EXPECT_EQ(until(told_clock::time_point::max()), for_ever);
}

TEST(until, works_on_the_standard_clocks_and_ours) {
    EXPECT_GT(until(std::chrono::steady_clock::now() + 1h), 50min);
    EXPECT_GT(until(std::chrono::system_clock::now() + 1h), 50min);
    EXPECT_GT(until(boot_clock::now() + 1h), 50min);
    EXPECT_EQ(until(std::chrono::steady_clock::time_point::max()), for_ever);
    EXPECT_EQ(until(std::chrono::system_clock::time_point::max()), for_ever);
    EXPECT_EQ(until(boot_clock::time_point::max()), for_ever);
    EXPECT_EQ(until(std::chrono::steady_clock::time_point::min()), 0ns);
}

TEST(told_span, is_a_century_at_most_in_either_direction) {
    using std::chrono::microseconds;
    using std::chrono::seconds;
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
    static_assert(base::told_span<microseconds>(-1'500) == -1500us);
    for (const nanoseconds span :
         {nanoseconds{base::told_span<seconds>(largest)}, nanoseconds{base::told_span<microseconds>(largest)},
          nanoseconds{base::told_span<std::chrono::milliseconds>(largest)}})
        EXPECT_EQ(span, std::chrono::hours{24 * 365 * 100});
    EXPECT_EQ(nanoseconds{base::told_span<seconds>(smallest)}, std::chrono::hours{-24 * 365 * 100});
}

}  // namespace
}  // namespace mortise
