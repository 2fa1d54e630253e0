// Disk, memory, descriptors, process slots: what the store uses, and what it says when there is no more.
#include "stores/host/ledger_check.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/host_suite.hpp"
#include "support/memory_use.hpp"
#include "support/sanitizers.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;

class host_space : public host_suite {};

// Thousands of names that come and go leave nothing behind, in the file as in the client.
TEST_F(host_space, a_stream_of_names_is_forgotten_when_the_client_leaves) {
    {
        client locks{url_};
        for (int n = 0; n < 3000; ++n) ASSERT_TRUE(locks.try_acquire("name " + std::to_string(n)));
    }
    EXPECT_EQ(open_ledger({directory_, true})->blocks_in_use(), 0u);
}

TEST_F(host_space, a_name_that_is_used_all_the_time_costs_the_client_no_memory) {
    if (testing::under_asan || testing::under_tsan) GTEST_SKIP() << "a sanitizer brings its own malloc";
    client locks{url_};
    const auto use = [&](int times) {
        for (int n = 0; n < times; ++n) static_cast<void>(locks.try_acquire("a name that is not a short one"));
    };
    use(100);
    const std::size_t before = mortise::testing::heap_bytes();
    use(20'000);
    EXPECT_LT(mortise::testing::heap_bytes(), before + 100'000);
}

TEST_F(host_space, want_of_descriptors_is_an_error_and_passes) {
    if (testing::under_asan)
        GTEST_SKIP() << "the sanitizer looks at memory through a pipe, and here there are no descriptors for one";
    child poor{[&] {
        client locks{url_};
        const hold first = locks.acquire("first");
        const rlimit few{3, 3};
        rlimit before{};
        ::getrlimit(RLIMIT_NOFILE, &before);
        ::setrlimit(RLIMIT_NOFILE, &few);
        if (!locks.try_acquire("second")) return 1;  // needs none
        client late{url_};
        const attempt got = late.try_acquire("first");
        return !got && got.reason() == errc::exhausted && first.valid() ? 0 : 2;
    }};
    EXPECT_EQ(poor.wait(), 0);
}

// As if a process had each of the slots: nothing else of the store takes record locks.
TEST_F(host_space, want_of_process_slots_is_an_error_and_passes) {
    ASSERT_GT(token_of_another(), 0u);
    milestone taken;
    child crowd{[&] {
        struct flock everything {};
        everything.l_type = F_WRLCK;
        bool locked = true;
        for (const auto& file : std::filesystem::directory_iterator(directory_))
            locked = locked && ::fcntl(::open(file.path().c_str(), O_RDWR), F_SETLK, &everything) == 0;
        taken.reach(locked ? 'y' : 'n');
        ::pause();
        return 0;
    }};
    ASSERT_EQ(taken.await(), 'y');
    const std::string note = scratch_ / "note";
    const auto ask = [&] {
        child late{[&] {
            client locks{url_};
            const attempt got = locks.try_acquire("x");
            std::ofstream{note} << (got ? "none" : got.refusal().describe());
            return 0;
        }};
        EXPECT_EQ(late.wait(), 0);
        return bytes_of(note);
    };
    EXPECT_THAT(ask(), ::testing::HasSubstr("all 1024 process slots are taken"));
    crowd.kill();
    EXPECT_EQ(ask(), "none");
}

TEST_F(host_space, says_that_the_disk_is_full_and_works_once_it_is_not) {
    std::filesystem::create_directory(directory_);
    if (::mount("none", directory_.c_str(), "tmpfs", 0, "size=1m") != 0)
        GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno);
    {
        std::ofstream ballast{directory_ + "/ballast"};
        ballast << std::string(900'000, 'x') << std::flush;
    }
    child tester{[&] {
        if (complaint(url_).find("No space left") == std::string::npos) return 1;
        std::filesystem::remove(directory_ + "/ballast");
        if (complaint(url_) != "none") return 2;

        // Now let it run full while it grows: what is held stays held, and nothing that was refused is in the way.
        client locks{url_};
        std::vector<hold> held;
        while (held.size() < 10'000) {
            attempt got = locks.try_acquire("name " + std::to_string(held.size()));
            if (!got) {
                if (got.reason() != errc::exhausted) return 3;
                break;
            }
            held.push_back(*std::move(got));
        }
        if (held.size() < 100 || held.size() == 10'000) return 4;
        for (const hold& one : held)
            if (!one.valid()) return 5;
        client other{url_};
        if (other.try_acquire("name 0").reason() != errc::busy) return 6;
        for (hold& one : held)
            if (one.release() != release_result::released) return 7;
        return find_damage(*open_ledger({directory_, true})).empty() ? 0 : 8;
    }};
    EXPECT_EQ(tester.wait(), 0);
    ::umount2(directory_.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace mortise::stores::host
