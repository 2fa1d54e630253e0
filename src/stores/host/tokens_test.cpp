// Tokens rise whatever is forgotten, as long as it is one thing at a time. The storms of processes set the clock back.
#include "stores/host/ledger_access.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/host_suite.hpp"

#include <mortise/token.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;

class host_tokens : public host_suite {};

TEST_F(host_tokens, rise_from_process_to_process) {
    std::uint64_t last = 0;
    for (int n = 0; n < 4; ++n) {
        const std::uint64_t next = token_of_another();
        EXPECT_GT(next, last);
        last = next;
    }
}

// Not if the clock is set back as well: with both memories gone nothing is left to rise from.
TEST_F(host_tokens, rise_over_a_wiped_directory) {
    const char* clock = std::getenv("MORTISE_TEST_WALL");
    if (clock != nullptr && std::string_view{clock}.starts_with("jump"))
        GTEST_SKIP() << "the clock is set back all the time";
    std::uint64_t last = 0;
    for (int n = 0; n < 4; ++n) {
        const std::uint64_t next = token_of_another();
        EXPECT_GT(next, last);
        last = next;
        std::filesystem::remove_all(directory_);
    }
}

// As if it had been granted while the wall clock was a century ahead.
TEST_F(host_tokens, rise_also_if_the_wall_clock_is_set_back_by_far) {
    const std::uint64_t first = token_of_another();
    const std::uint64_t ahead = token{first}.counter() + 3'000'000'000'000'000u;
    child future{[&] {
        const auto kept = open_ledger({directory_, true});
        ledger_access{*kept}.raise_counter(ahead);
        return 0;
    }};
    ASSERT_EQ(future.wait(), 0);
    const std::uint64_t second = token_of_another();
    EXPECT_GT(token{second}.counter(), ahead);
    EXPECT_GT(token_of_another(), second);
}

// After a restart nobody holds anything, whatever the file says.
TEST_F(host_tokens, rise_over_a_restart_of_the_machine_which_ends_all_holds) {
    const std::string file = scratch_ / "token";
    child before{[&] {
        client locks{url_};
        static_cast<void>(locks.acquire("detached", {.lease = 1h, .kept_by = kept_by::lease}));
        const hold mine = locks.acquire("x", {.lease = 1h});
        std::ofstream{file} << mine.token().value();
        ::raise(SIGKILL);
        return 0;
    }};
    ASSERT_EQ(before.wait(), -SIGKILL);
    std::uint64_t last = 0;
    std::ifstream{file} >> last;

    std::string boot(36, '?');
    std::ifstream{"/proc/sys/kernel/random/boot_id"}.read(boot.data(), 36);
    std::string bytes = bytes_of(directory_ + "/locks");
    const auto at = bytes.find(boot);
    ASSERT_NE(at, std::string::npos) << "the file does not say in which life of the machine it was written";
    bytes.replace(at, boot.size(), "01234567-0123-0123-0123-0123456789ab");
    std::ofstream{directory_ + "/locks", std::ios::binary} << bytes;

    EXPECT_GT(token_of_another(), last);
    child after{[&] {
        client locks{url_};
        if (!locks.try_acquire("detached")) return 1;
        ledger_access in{*open_ledger({directory_, true})};
        return find_damage(in).empty() ? 0 : 2;
    }};
    EXPECT_EQ(after.wait(), 0);
}

}  // namespace
}  // namespace mortise::stores::host
