// The wall clock is read in a few places, none of which decides when a hold ends. So it is enough that the tests of these few run
// again with a clock that jumps (tests/wall_clock.cmake, docs/decisions/0034).
#include "tree/repository.hpp"

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace {

// Which files read it, and what for.
const std::map<std::string, std::string> readers{
    {"src/base/lock_rules.cpp", "a counter of tokens begins at it, and never falls"},
    {"src/net/certificate.cpp", "writes the day on which a certificate ends"},
    {"src/stores/host/operator_log.cpp", "when a lock was broken, for people"},
    {"src/stores/redis/diagnostics.cpp", "the doctor compares it with the server's"},
    {"tools/mortise/watch.cpp", "when a line was printed, for people"},
};

bool reads_the_wall_clock(const std::string& line) {
    static const std::regex pattern{
        "system_clock|high_resolution_clock|utc_clock|tai_clock|file_clock|CLOCK_REALTIME|CLOCK_TAI"
        "|\\b(gettimeofday|timespec_get|ftime|localtime|localtime_r|gmtime|gmtime_r|strftime|sem_timedwait|last_write_"
        "time)\\b"
        "|(std::|::)time\\(|\\bst_[acm]tim"};
    const std::string code = line.substr(0, line.find("//"));
    const auto has = [&](const char* part) { return code.find(part) != code.npos; };
    if (!has("clock") && !has("CLOCK") && !has("tim")) return false;  // a regex takes its time
    return std::regex_search(code, pattern);
}

TEST(wall_clock, is_read_where_the_table_says_and_nowhere_else) {
    std::set<std::string> found;
    for (const std::string& file : tree::files()) {
        const bool ours = file.starts_with("src/") || file.starts_with("include/") || file.starts_with("tools/");
        const bool for_tests = file.ends_with("_test.cpp") || file.find("/fixture.") != file.npos ||
                               file.find("/servers/") != file.npos || file.find("/interop/") != file.npos;
        if (!ours || for_tests || (!file.ends_with(".cpp") && !file.ends_with(".hpp"))) continue;
        std::ifstream in{tree::root() / file};
        std::string line;
        for (int number = 1; std::getline(in, line); ++number) {
            if (!reads_the_wall_clock(line)) continue;
            found.insert(file);
            EXPECT_TRUE(readers.contains(file))
                << file << ":" << number << ": " << line
                << "\n  Time is spi::clock. If this is for people only, add a row to the "
                   "table, and its tests to tests/wall_clock.cmake.";
        }
    }
    for (const auto& [file, why] : readers) EXPECT_TRUE(found.contains(file)) << file << " no longer reads it";
}

TEST(wall_clock, is_known_when_it_is_seen) {
    for (const char* line : {"const auto now = std::chrono::system_clock::now();", "  ::time(nullptr)",
                             "std::time(&t);", "::clock_gettime(CLOCK_REALTIME, &t);", "gettimeofday(&t, nullptr);",
                             "std::filesystem::last_write_time(file)", "if (status.st_mtim.tv_sec > 3)"})
        EXPECT_TRUE(reads_the_wall_clock(line)) << line;
    for (const char* line : {"boot_clock::now()", "std::chrono::steady_clock::now();", "// not the system_clock",
                             "::clock_gettime(CLOCK_BOOTTIME, &t);", "lifetime(3)", "some_time(nullptr)", "uptime();"})
        EXPECT_FALSE(reads_the_wall_clock(line)) << line;
}

}  // namespace
