#include "stores/host/ledger.hpp"

#include "support/children.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::milestone;
using mortise::testing::scale;
using mortise::testing::scratch_directory;

class ledger_test : public ::testing::Test {
protected:
    std::shared_ptr<ledger> open() const { return ledger::open({scratch_.path(), true}); }
    scratch_directory scratch_;
};

// Contents that prove themselves: the name, a number, how long, and then a pattern that follows from these.
std::string content(const std::string& name, std::uint64_t number, std::size_t size) {
    std::string text = name + " " + std::to_string(number) + " " + std::to_string(size) + "\n";
    std::uint64_t x = number * 0x9e3779b97f4a7c15u + size;
    while (text.size() < size)
        text += static_cast<char>('a' + (x = x * 6364136223846793005u + 1442695040888963407u) % 26);
    return text;
}

bool is_whole(const std::string& name, const std::string& text) {
    std::istringstream in{text};
    std::string said;
    std::uint64_t number = 0;
    std::size_t size = 0;
    return in >> said >> number >> size && said == name && text == content(name, number, size);
}

TEST_F(ledger_test, keeps_what_was_written_last) {
    const auto kept = open();
    ledger::access in{*kept};
    EXPECT_EQ(in.read("a"), "");
    in.write("a", "one");
    in.write("b", "two");
    EXPECT_EQ(in.read("a"), "one");
    in.write("a", std::string(1000, 'x'));
    EXPECT_EQ(in.read("a"), std::string(1000, 'x'));
    in.write("a", "1");
    EXPECT_EQ(in.read("a"), "1");
    in.write("a", {});
    in.write("never", {});
    EXPECT_EQ(in.read("a"), "");
    EXPECT_EQ(in.read("b"), "two");
    EXPECT_EQ(in.problem(), "");
    std::map<std::string, std::string> all;
    in.each([&](std::string_view name, std::string_view state) { all.emplace(name, state); });
    EXPECT_EQ(all, (std::map<std::string, std::string>{{"b", "two"}}));
}

TEST_F(ledger_test, keeps_every_size_around_the_edges_of_blocks) {
    const auto kept = open();
    ledger::access in{*kept};
    const std::string longest(200, 'n');
    for (std::size_t size = 1; size < 1200; ++size) {
        const std::string text = content("x", size, size);
        in.write(longest, text);
        ASSERT_EQ(in.read(longest), text) << size;
    }
    EXPECT_EQ(in.problem(), "");
    in.write(longest, {});
    EXPECT_EQ(kept->blocks_in_use(), 0u);
}

TEST_F(ledger_test, grows_and_gives_every_block_back) {
    const auto kept = open();
    ledger::access in{*kept};
    const std::uint64_t before = kept->blocks_in_use();
    constexpr int names = 20'000;
    for (int n = 0; n < names; ++n) in.write("name " + std::to_string(n), content("n", 1, 10 + n % 600));
    EXPECT_GE(kept->blocks_in_use(), std::uint64_t{2 * names});
    EXPECT_EQ(in.problem(), "");
    for (int n = 0; n < names; n += 7) in.write("name " + std::to_string(n), content("n", 2, 10 + n % 900));
    for (int n = 0; n < names; ++n)
        ASSERT_EQ(in.read("name " + std::to_string(n)),
                  n % 7 == 0 ? content("n", 2, 10 + n % 900) : content("n", 1, 10 + n % 600));
    for (int n = 0; n < names; ++n) in.write("name " + std::to_string((n * 7919) % names), {});
    EXPECT_EQ(kept->blocks_in_use(), before);
    EXPECT_EQ(in.problem(), "");

    // A stream of fresh names needs no more room than those that are there at a time.
    const auto size = std::filesystem::file_size(scratch_ / "locks");
    for (int n = 0; n < names; ++n) {
        in.write("fresh " + std::to_string(n), "state");
        if (n >= 100) in.write("fresh " + std::to_string(n - 100), {});
    }
    EXPECT_EQ(std::filesystem::file_size(scratch_ / "locks"), size);
}

TEST_F(ledger_test, does_not_lower_its_floor) {
    const auto kept = open();
    ledger::access in{*kept};
    in.raise_floor(1000);
    in.raise_floor(10);
    EXPECT_EQ(in.floor(), 1000u);
}

TEST_F(ledger_test, is_one_for_all_that_open_it_in_a_process_but_not_for_its_children) {
    const auto kept = open();
    EXPECT_EQ(open().get(), kept.get());
    child other{[&] {
        const auto own = open();
        if (own.get() == kept.get() || own->seats().mine() == kept->seats().mine()) return 1;
        return own->seats().alive(kept->seats().mine()) ? 0 : 2;
    }};
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(kept->seats().alive(kept->seats().mine()));
}

TEST_F(ledger_test, tells_the_living_from_the_dead) {
    const auto kept = open();
    milestone ready;
    struct both {
        seat own;
    };
    auto* told = static_cast<both*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    child other{[&] {
        const auto own = open();
        told->own = own->seats().mine();
        ready.reach();
        ::pause();
        return 0;
    }};
    ready.await();
    const seat its = told->own;
    EXPECT_TRUE(kept->seats().alive(its));
    EXPECT_EQ(kept->seats().pid_here(its), other.pid());
    EXPECT_EQ(kept->seats().describe(its), "pid " + std::to_string(other.pid()));
    other.kill();
    EXPECT_FALSE(kept->seats().alive(its));
    EXPECT_FALSE(kept->seats().alive({its.number, its.term + 1}));
    ::munmap(told, 4096);
}

// Killed at any instruction: whoever comes next finds whole states only, and every block accounted for.
TEST_F(ledger_test, survives_the_death_of_its_writer_at_any_moment) {
    const auto kept = open();
    constexpr int names = 12;
    const auto name = [](std::uint64_t n) { return "name" + std::to_string(n % names); };
    std::minstd_rand dice{4711};
    const std::uint64_t deaths = scale(400);
    std::uint64_t inside = 0;
    std::uint64_t states = 0;
    for (std::uint64_t n = 0; n < deaths; ++n) {
        milestone started;
        child writer{[&] {
            const auto own = open();
            std::minstd_rand own_dice{static_cast<unsigned>(n) + 1};
            for (std::uint64_t number = 0;; ++number) {
                ledger::access in{*own};
                for (int i = 0; i < 20; ++i) {
                    const std::string which = name(own_dice());
                    in.write(which, own_dice() % 5 == 0 ? "" : content(which, number, 20 + own_dice() % 3000));
                    in.raise_floor(number);
                }
                if (number == 0) started.reach();
            }
            return 0;
        }};
        started.await();
        std::this_thread::sleep_for(std::chrono::microseconds{dice() % 3000});
        writer.kill();
        const auto begun = std::chrono::steady_clock::now();
        ledger::access in{*kept};
        if (std::chrono::steady_clock::now() - begun > 1ms) ++inside;  // it had to be replaced as the lock's owner
        ASSERT_EQ(in.problem(), "") << "after death " << n;
        for (std::uint64_t i = 0; i < names; ++i) {
            const std::string text = in.read(name(i));
            if (text.empty()) continue;
            ASSERT_TRUE(is_whole(name(i), text)) << "after death " << n << ": " << text;
            ++states;
        }
    }
    EXPECT_GT(states, deaths);
    std::cout << "ledger: deaths=" << deaths << " inside=" << inside << " whole_states=" << states << " broken=0\n";
    ledger::access in{*kept};
    for (std::uint64_t i = 0; i < names; ++i) in.write(name(i), {});
    EXPECT_EQ(kept->blocks_in_use(), 0u);
}

TEST_F(ledger_test, replaces_a_dead_owner_of_its_lock) {
    const auto kept = open();
    child owner{[&] {
        const auto own = open();
        ledger::access in{*own};
        ::raise(SIGKILL);
        return 0;
    }};
    EXPECT_EQ(owner.wait(), -SIGKILL);
    const auto begun = std::chrono::steady_clock::now();
    ledger::access{*kept}.write("x", "state");
    std::cout << "ledger: dead_owner_replaced_after_us="
              << std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun).count()
              << "\n";
    ledger::access in{*kept};
    EXPECT_EQ(in.read("x"), "state");
}

TEST_F(ledger_test, names_a_stopped_owner_of_its_lock_and_goes_on_after_it) {
    const auto kept = open();
    child owner{[&] {
        const auto own = open();
        ledger::access in{*own};
        in.write("x", "before");
        ::raise(SIGSTOP);
        in.write("x", "after");
        return 0;
    }};
    ASSERT_TRUE(owner.stopped());

    // Also when several threads ask: they do not add up their patience.
    std::vector<std::thread> askers;
    std::atomic<int> named{0};
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 8; ++i)
        askers.emplace_back([&] {
            try {
                ledger::access in{*kept};
            } catch (const error& e) {
                const bool right =
                    std::string(e.what()).find("pid " + std::to_string(owner.pid())) != std::string::npos;
                if (right && e.code() == errc::unreachable) ++named;
            }
        });
    for (std::thread& one : askers) one.join();
    EXPECT_EQ(named, 8);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 4 * ledger::patience);

    owner.tell(SIGCONT);
    EXPECT_EQ(owner.wait(), 0);
    ledger::access in{*kept};
    EXPECT_EQ(in.read("x"), "after");
}

// --- files that are not what they should be ---------------------------------------------------------------------------

std::string bytes_of(const std::string& path) {
    std::ifstream in{path, std::ios::binary};
    return {std::istreambuf_iterator<char>(in), {}};
}

class spoiled_ledger : public ledger_test {
protected:
    void SetUp() override {
        child maker{[&] {
            ledger::access{*open()}.write("x", "state");
            return 0;
        }};
        ASSERT_EQ(maker.wait(), 0);
        whole_ = bytes_of(scratch_ / "locks");
    }

    // The error, after a look that nothing was touched.
    void expect_refusal(const std::string& bytes, const std::string& words) {
        std::ofstream{scratch_ / "locks", std::ios::binary | std::ios::trunc} << bytes;
        std::string said;
        try {
            open();
        } catch (const error& e) {
            said = e.what();
            EXPECT_EQ(e.code(), errc::unreachable);
        }
        EXPECT_NE(said.find(words), std::string::npos) << said;
        EXPECT_NE(said.find(scratch_.path()), std::string::npos) << said;
        EXPECT_TRUE(bytes_of(scratch_ / "locks") == bytes) << "the file was changed";
    }

    std::string whole_;
};

TEST_F(spoiled_ledger, cut_short_is_refused) {
    expect_refusal(whole_.substr(0, whole_.size() - 1), "cut short");
    expect_refusal(whole_.substr(0, 70'000), "cut short");
    expect_refusal(whole_.substr(0, 4096), "cut short");
    expect_refusal(whole_.substr(0, 100), "cut short");
    expect_refusal(whole_.substr(0, 50), "");
    expect_refusal(whole_.substr(0, 10), "");
}

TEST_F(spoiled_ledger, foreign_is_refused) {
    expect_refusal("x", "not a file of Mortise");
    expect_refusal("my own locks, do not touch\n", "not a file of Mortise");
    expect_refusal(std::string(64, '\0') + "a foreign file that begins with zeros", "not a file of Mortise");
    expect_refusal(std::string(2'000'000, '\0'), "not a file of Mortise");
}

TEST_F(spoiled_ledger, of_a_newer_format_is_refused) {
    std::string newer = whole_;
    newer[24] = 2;
    expect_refusal(newer, "has format 2, this build reads format 1");
}

TEST_F(spoiled_ledger, that_is_a_link_or_a_directory_is_refused) {
    std::filesystem::rename(scratch_ / "locks", scratch_ / "elsewhere");
    std::filesystem::create_symlink("elsewhere", scratch_ / "locks");
    EXPECT_THROW(open(), error);
    std::filesystem::remove(scratch_ / "locks");
    std::filesystem::create_directory(scratch_ / "locks");
    EXPECT_THROW(open(), error);
    EXPECT_TRUE(bytes_of(scratch_ / "elsewhere") == whole_);
}

// Its maker was killed before it was done: there is nothing in it yet.
TEST_F(spoiled_ledger, that_was_never_finished_is_finished) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{4096}, whole_.size()}) {
        std::filesystem::remove(scratch_ / "locks");
        std::ofstream{scratch_ / "locks", std::ios::binary} << std::string(size, '\0');
        const auto kept = open();
        ledger::access in{*kept};
        in.write("x", "state");
        EXPECT_EQ(in.problem(), "");
    }
}

}  // namespace
}  // namespace mortise::stores::host
