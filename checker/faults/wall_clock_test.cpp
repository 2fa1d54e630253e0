// The tests that run under wall_clock_shim prove something only if the clock really lies to them.
#include <chrono>
#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace mortise::testing {
namespace {

using std::chrono::seconds;

seconds kernel_time(clockid_t which) {
    timespec now{};
    ::syscall(SYS_clock_gettime, which, &now);
    return seconds{now.tv_sec};
}

seconds library_time(clockid_t which) {
    timespec now{};
    ::clock_gettime(which, &now);
    return seconds{now.tv_sec};
}

TEST(wall_clock, lies_exactly_when_told_to) {
    const char* told = std::getenv("MORTISE_TEST_WALL");
    const seconds slack{60};
    for (int i = 0; i < 10; ++i) {
        const auto by_chrono = std::chrono::system_clock::now().time_since_epoch() - kernel_time(CLOCK_REALTIME);
        const auto by_time = seconds{::time(nullptr)} - kernel_time(CLOCK_REALTIME);
        if (told == nullptr) {
            EXPECT_LT(abs(by_chrono), slack);
            EXPECT_LT(abs(by_time), slack);
        } else if (std::string_view{told} == "offset=3600") {
            EXPECT_LT(abs(by_chrono - seconds{3600}), slack);
            EXPECT_LT(abs(by_time - seconds{3600}), slack);
        } else if (std::string_view{told} == "spread=3600") {
            EXPECT_LT(abs(by_chrono), seconds{3600} + slack);
            EXPECT_LT(abs(by_chrono - by_time), slack);
        } else {
            EXPECT_GT(abs(by_chrono), seconds{1800} - slack);
            EXPECT_GT(abs(by_time), seconds{1800} - slack);
        }
    }
}

TEST(wall_clock, leaves_the_other_clocks_alone) {
    for (clockid_t which : {CLOCK_MONOTONIC, CLOCK_BOOTTIME}) {
        EXPECT_LT(abs(library_time(which) - kernel_time(which)), seconds{60});
    }
}

}  // namespace
}  // namespace mortise::testing
