// What others do to the file and to this process's limits: never a crash, never two holders, and every holder is told.
#include "stores/host/ledger_access.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/host_suite.hpp"
#include "support/sanitizers.hpp"
#include "support/waiting.hpp"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

class host_harm : public host_suite {
protected:
    std::string file() const { return directory_ + "/locks"; }

    // In place: the inode, and so every mapping of it, stays.
    void overwrite(std::size_t at, const std::string& bytes) const {
        const int fd = ::open(file().c_str(), O_WRONLY | O_CLOEXEC);
        ASSERT_EQ(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)), static_cast<ssize_t>(bytes.size()));
        ::close(fd);
    }
    void blank() const { overwrite(0, std::string(std::filesystem::file_size(file()), '\0')); }

    // What a new process is told.
    std::string complaint_of_another() const {
        const std::string note = scratch_ / "note";
        child other{[&] {
            std::ofstream{note} << complaint(url_);
            return 0;
        }};
        EXPECT_EQ(other.wait(60s), 0);
        return bytes_of(note);
    }
};

// No lease would ever free them, and their process lives on.
TEST_F(host_harm, every_client_that_leaves_a_stuck_store_is_remembered) {
    constexpr int crowd = 150;
    std::vector<std::unique_ptr<client>> leaving;
    std::vector<hold> held;
    for (int n = 0; n < crowd; ++n) {
        leaving.push_back(std::make_unique<client>(url_, client_options{.close_wait = 0ms}));
        held.push_back(leaving.back()->acquire("n" + std::to_string(n)));
    }
    child culprit{[&] {
        const auto kept = open_ledger({directory_, true});
        ledger_access in{*kept};
        ::raise(SIGSTOP);
        return 0;
    }};
    ASSERT_TRUE(culprit.stopped());
    {
        std::vector<std::jthread> goodbyes;
        for (auto& one : leaving) goodbyes.emplace_back([&] { one.reset(); });
    }
    culprit.tell(SIGCONT);
    EXPECT_EQ(culprit.wait(), 0);

    int stuck = 0;
    client locks{url_};
    for (int n = 0; n < crowd; ++n)
        if (!locks.try_acquire("n" + std::to_string(n), {.wait = 200ms})) ++stuck;
    std::cout << "names_held_for_good=" << stuck << "\n";
    EXPECT_EQ(stuck, 0);
}

TEST_F(host_harm, an_emptied_file_lets_nobody_in_beside_a_living_holder) {
    child other = holder();
    const std::string whole = bytes_of(file());
    blank();
    EXPECT_THAT(complaint_of_another(), AllOf(HasSubstr(directory_), HasSubstr("emptied"), HasSubstr("fuser")));
    std::filesystem::resize_file(file(), 0);
    EXPECT_THAT(complaint_of_another(), AllOf(HasSubstr(directory_), HasSubstr("emptied"), HasSubstr("fuser")));
    other.kill();
    EXPECT_EQ(complaint_of_another(), "none") << "nobody is left in it";
}

// A client that holds, one that waits, and one that is asleep in a call, while the file is spoiled under them.
class host_harm_under_use : public host_harm, public ::testing::WithParamInterface<long> {};

TEST_P(host_harm_under_use, a_file_cut_short_is_an_error_and_the_holder_is_told) {
    if (under_asan || under_tsan) GTEST_SKIP() << "a sanitizer has its own handler for bus errors";
    milestone ready;
    milestone cut;
    child other{[&] {
        client locks{url_};
        client waiter{url_};
        hold mine = locks.acquire("x");
        std::atomic<bool> told{false};
        std::atomic<bool> sent_away{false};
        mine.on_lost([&] { told = true; });
        std::jthread waits{[&] { sent_away = !waiter.try_acquire("x", {.wait = 60s}); }};
        std::atomic<bool> answered{false};
        waiter.start({.name = "x"}, [&](const attempt& got) { answered = !got; });
        std::this_thread::sleep_for(100ms);
        ready.reach();
        cut.await();
        if (!eventually([&] { return told.load(); }, 30s)) return 1;
        if (!eventually([&] { return sent_away.load() && answered.load(); }, 30s)) return 2;
        if (mine.valid()) return 3;
        const attempt again = locks.try_acquire("y");
        if (again || again.reason() != errc::unreachable) return 4;
        if (again.refusal().describe().find("cut short") == std::string::npos) return 5;
        return 0;
    }};
    ready.await();
    std::filesystem::resize_file(file(), static_cast<std::uintmax_t>(GetParam()));
    cut.reach();
    EXPECT_EQ(other.wait(60s), 0);
}

INSTANTIATE_TEST_SUITE_P(sizes, host_harm_under_use, ::testing::Values(0, 100, 70'000, 200'000, 400'000),
                         [](const auto& one) { return std::to_string(one.param); });

// At full speed, so that the cut comes in the midst of an access.
TEST_F(host_harm, a_file_cut_short_in_the_midst_of_a_call_is_no_crash) {
    if (under_asan || under_tsan) GTEST_SKIP() << "a sanitizer has its own handler for bus errors";
    for (int round = 0; round < 5; ++round) {
        std::filesystem::remove_all(directory_);
        milestone ready;
        child other{[&] {
            client locks{url_};
            if (!locks.try_acquire("x")) return 2;
            ready.reach();
            for (const auto end = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < end;)
                if (!locks.try_acquire("x")) return 0;
            return 1;
        }};
        ready.await();
        std::filesystem::resize_file(file(), 0);
        EXPECT_EQ(other.wait(60s), 0);
    }
}

// Random bytes, zeros, and numbers that lead astray, in every part of the file: whatever is said, nobody crashes or hangs.
TEST_F(host_harm, a_spoiled_file_crashes_nobody) {
    {
        child maker{[&] {
            client locks{url_};
            std::vector<hold> held;
            for (int n = 0; n < 40; ++n) held.push_back(locks.acquire("n" + std::to_string(n)));
            for (int n = 0; n < 10; ++n) locks.start({.name = "n0"}, [](attempt) {});
            std::this_thread::sleep_for(50ms);
            ::raise(SIGKILL);
            return 0;
        }};
        ASSERT_EQ(maker.wait(), -SIGKILL);
    }
    const std::string whole = bytes_of(file());
    std::mt19937 dice{static_cast<unsigned>(::testing::UnitTest::GetInstance()->random_seed())};  // 0 unless shuffled
    int complaints = 0;
    for (int round = 0; round < 120; ++round) {
        std::string spoiled = whole;
        // The header, the buckets, and the blocks that are in use.
        const auto from = std::vector<std::size_t>{28, 29 * 1024, 262'144, 327'680}[dice() % 4];
        const auto size = std::vector<std::size_t>{4, 64, 4096, 65'536}[dice() % 4];
        for (std::size_t i = from + dice() % 4096 / 4 * 4, last = std::min(i + size, spoiled.size()); i + 4 <= last;
             i += 4) {
            const std::uint32_t word = round % 3 == 0   ? dice()
                                       : round % 3 == 1 ? static_cast<std::uint32_t>(dice() % 512)
                                                        : 0x7fffffffu;
            std::memcpy(spoiled.data() + i, &word, sizeof word);
        }
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directory(directory_);
        std::ofstream{file(), std::ios::binary} << spoiled;
        child user{[&] {
            client locks{url_};
            bool refused = false;
            for (int n = 0; n < 50; ++n) {
                attempt got = locks.try_acquire("n" + std::to_string(n), {.wait = n % 10 == 0 ? 30ms : 0ms});
                refused = refused || (!got && got.reason() != errc::busy && got.reason() != errc::timed_out);
            }
            std::error_code ec;
            static_cast<void>(locks.list(ec));
            static_cast<void>(locks.check(ec));
            return refused ? 1 : 0;
        }};
        const int status = user.wait(60s);
        ASSERT_TRUE(status == 0 || status == 1) << "round " << round << ": " << status;
        complaints += status;
    }
    std::cout << "refused=" << complaints << "/120\n";
    EXPECT_GT(complaints, 0);
}

TEST_F(host_harm, a_limit_of_file_size_is_an_error_with_a_remedy) {
    child poor{[&] {
        const rlimit little{200 * 1024, 200 * 1024};
        ::setrlimit(RLIMIT_FSIZE, &little);
        return complaint(url_).find("ulimit -f") != std::string::npos ? 0 : 1;
    }};
    EXPECT_EQ(poor.wait(), 0);

    child growing{[&] {
        client locks{url_};
        std::vector<hold> held;
        held.push_back(locks.acquire("first"));
        const auto size = std::filesystem::file_size(file());
        const rlimit little{size + 1024, size + 1024};
        ::setrlimit(RLIMIT_FSIZE, &little);
        while (held.size() < 2000) {
            attempt got = locks.try_acquire("name " + std::to_string(held.size()));
            if (!got)
                return got.reason() == errc::exhausted &&
                               got.refusal().describe().find("ulimit -f") != std::string::npos
                           ? 0
                           : 2;
            held.push_back(*std::move(got));
        }
        return 3;
    }};
    EXPECT_EQ(growing.wait(), 0);
}

TEST_F(host_harm, little_address_space_is_enough) {
    if (under_asan || under_tsan) GTEST_SKIP() << "a sanitizer needs terabytes of address space";
    child poor{[&] {
        std::uint64_t pages = 0;
        std::ifstream{"/proc/self/statm"} >> pages;
        const rlim_t now = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
        const rlimit little{now + (100u << 20), now + (100u << 20)};
        if (::setrlimit(RLIMIT_AS, &little) != 0) return 1;
        const std::string said = complaint(url_);
        if (said == "none") return 0;
        std::cerr << said << std::endl;
        return 2;
    }};
    EXPECT_EQ(poor.wait(), 0);

    child beggar{[&] {
        client locks{url_};
        std::uint64_t pages = 0;
        std::ifstream{"/proc/self/statm"} >> pages;
        const rlimit none{pages, pages};
        ::setrlimit(RLIMIT_AS, &none);
        attempt got = locks.try_acquire("x");
        return !got && got.reason() == errc::exhausted ? 0 : 1;
    }};
    EXPECT_EQ(beggar.wait(), 0);
}

TEST_F(host_harm, a_holder_is_told_when_its_directory_is_removed_or_replaced) {
    client old{url_};
    hold mine = old.acquire("x");
    std::atomic<bool> told{false};
    mine.on_lost([&] { told = true; });
    std::this_thread::sleep_for(1500ms);
    EXPECT_FALSE(told) << "nothing happened yet";
    std::filesystem::rename(directory_, directory_ + ".old");
    child successor = holder();
    EXPECT_TRUE(eventually([&] { return told.load(); }, 30s));
    EXPECT_FALSE(mine.valid());
}

}  // namespace
}  // namespace mortise::stores::host
