#include "stores/host/ledger_access.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/children.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::milestone;
using mortise::testing::scratch_directory;

class ledger_test : public ::testing::Test {
protected:
    std::shared_ptr<ledger> open() const { return open_ledger({scratch_.path(), true}); }
    scratch_directory scratch_;
};

// A name with one claim.
void keep(ledger_access& in, std::string_view name, std::uint64_t number = 1) {
    const block_number n = in.find(name) != 0 ? in.find(name) : in.add(name);
    const block_number c = in.allocate(block_head::claim);
    in.claim(c).of = n;
    in.claim(c).weight = 1;
    in.claim(c).counter = number;
    in.append(in.name(n).holders, c);
    in.set(in.name(n).used, in.name(n).used + 1);
    in.commit_if_full();
}

void forget(ledger_access& in, std::string_view name) {
    const block_number n = in.find(name);
    while (const block_number c = in.name(n).holders.first) {
        in.unlink(in.name(n).holders, c);
        in.free(c);
        in.commit_if_full();
    }
    in.remove(n);
    in.commit_if_full();
}

std::vector<std::uint64_t> numbers(ledger_access& in, std::string_view name) {
    std::vector<std::uint64_t> all;
    if (const block_number n = in.find(name))
        for (block_number c = in.name(n).holders.first; c != 0; c = in.claim(c).next)
            all.push_back(in.claim(c).counter);
    return all;
}

TEST_F(ledger_test, keeps_what_was_committed_and_nothing_else) {
    const auto kept = open();
    {
        ledger_access in{*kept};
        EXPECT_EQ(in.find("a"), 0u);
        keep(in, "a", 1);
        keep(in, "a", 2);
        keep(in, "b", 3);
        in.commit();
        keep(in, "a", 4);
        keep(in, "c", 5);
        EXPECT_EQ(numbers(in, "a"), (std::vector<std::uint64_t>{1, 2, 4}));
    }
    {
        ledger_access in{*kept};
        EXPECT_EQ(numbers(in, "a"), (std::vector<std::uint64_t>{1, 2})) << "what was not committed is undone";
        EXPECT_EQ(in.find("c"), 0u);
        EXPECT_EQ(find_damage(in), "");
        forget(in, "a");
    }
    ledger_access in{*kept};
    EXPECT_EQ(numbers(in, "a"), (std::vector<std::uint64_t>{1, 2}));
    forget(in, "a");
    in.commit();
    EXPECT_EQ(in.find("a"), 0u);
    EXPECT_EQ(numbers(in, "b"), (std::vector<std::uint64_t>{3}));
    EXPECT_EQ(find_damage(in), "");
    std::vector<std::string> names;
    in.each([&](block_number n) { names.emplace_back(in.name(n).text()); });
    EXPECT_EQ(names, std::vector<std::string>{"b"});
}

TEST_F(ledger_test, tells_names_apart_that_share_a_beginning_or_a_bucket) {
    const auto kept = open();
    ledger_access in{*kept};
    std::string name;
    for (std::uint64_t size = 1; size <= 200; ++size) keep(in, name += 'n', size);
    for (std::uint64_t n = 0; n < 40'000; ++n) keep(in, std::to_string(n), n);
    name.clear();
    for (std::uint64_t size = 1; size <= 200; ++size)
        ASSERT_EQ(numbers(in, name += 'n'), std::vector<std::uint64_t>{size});
    for (std::uint64_t n = 0; n < 40'000; ++n) ASSERT_EQ(numbers(in, std::to_string(n)), std::vector<std::uint64_t>{n});
    in.commit();
    EXPECT_EQ(find_damage(in), "");
}

TEST_F(ledger_test, grows_and_gives_every_block_back) {
    const auto kept = open();
    ledger_access in{*kept};
    const std::uint64_t before = kept->blocks_in_use();
    constexpr int names = 20'000;
    for (int n = 0; n < names; ++n) keep(in, "name " + std::to_string(n));
    EXPECT_EQ(kept->blocks_in_use(), std::uint64_t{2 * names});
    EXPECT_EQ(find_damage(in), "");
    for (int n = 0; n < names; ++n) forget(in, "name " + std::to_string((n * 7919) % names));
    EXPECT_EQ(kept->blocks_in_use(), before);
    EXPECT_EQ(find_damage(in), "");

    // A stream of fresh names needs no more room than those that are there at a time.
    const auto size = std::filesystem::file_size(scratch_ / "locks");
    for (int n = 0; n < names; ++n) {
        keep(in, "fresh " + std::to_string(n));
        if (n >= 100) forget(in, "fresh " + std::to_string(n - 100));
    }
    EXPECT_EQ(std::filesystem::file_size(scratch_ / "locks"), size);
}

TEST_F(ledger_test, does_not_lower_its_counter) {
    const auto kept = open();
    ledger_access in{*kept};
    in.raise_counter(1000);
    in.raise_counter(10);
    EXPECT_EQ(in.last_counter(), 1000u);
}

TEST_F(ledger_test, is_one_for_all_that_open_it_in_a_process_but_not_for_its_children) {
    const auto kept = open();
    EXPECT_EQ(open().get(), kept.get());
    child other{[&] {
        const auto own = open();
        if (own.get() == kept.get() || own->slots().mine() == kept->slots().mine()) return 1;
        return own->slots().alive(kept->slots().mine()) ? 0 : 2;
    }};
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(kept->slots().alive(kept->slots().mine()));
}

TEST_F(ledger_test, tells_the_living_from_the_dead) {
    const auto kept = open();
    milestone ready;
    struct both {
        process_slot own;
    };
    auto* told = static_cast<both*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    child other{[&] {
        const auto own = open();
        told->own = own->slots().mine();
        ready.reach();
        ::pause();
        return 0;
    }};
    ready.await();
    const process_slot its = told->own;
    EXPECT_TRUE(kept->slots().alive(its));
    EXPECT_EQ(kept->slots().pid_here(its), other.pid());
    EXPECT_EQ(kept->slots().describe(its), "pid " + std::to_string(other.pid()));
    other.kill();
    EXPECT_FALSE(kept->slots().alive(its));
    EXPECT_FALSE(kept->slots().alive({its.number, its.term + 1}));
    ::munmap(told, 4096);
}

TEST_F(ledger_test, replaces_a_dead_owner_of_its_lock) {
    const auto kept = open();
    child owner{[&] {
        const auto own = open();
        ledger_access in{*own};
        keep(in, "half");
        ::raise(SIGKILL);
        return 0;
    }};
    EXPECT_EQ(owner.wait(), -SIGKILL);
    const auto begun = std::chrono::steady_clock::now();
    {
        ledger_access in{*kept};
        EXPECT_EQ(in.find("half"), 0u);
        EXPECT_EQ(find_damage(in), "");
    }
    std::cout << "ledger: dead_owner_replaced_after_us="
              << std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun).count()
              << "\n";
}

TEST_F(ledger_test, names_a_stopped_owner_of_its_lock_and_goes_on_after_it) {
    const auto kept = open();
    child owner{[&] {
        const auto own = open();
        ledger_access in{*own};
        keep(in, "x", 1);
        ::raise(SIGSTOP);
        keep(in, "x", 2);
        in.commit();
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
                ledger_access in{*kept};
            } catch (const error& e) {
                const bool right =
                    std::string(e.what()).find("pid " + std::to_string(owner.pid())) != std::string::npos;
                if (right && e.code() == errc::unreachable) ++named;
            }
        });
    for (std::thread& one : askers) one.join();
    EXPECT_EQ(named, 8);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 4 * ledger_patience);

    owner.tell(SIGCONT);
    EXPECT_EQ(owner.wait(), 0);
    ledger_access in{*kept};
    EXPECT_EQ(numbers(in, "x"), (std::vector<std::uint64_t>{1, 2}));
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
            ledger_access in{*open()};
            keep(in, "x");
            in.commit();
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
    expect_refusal(whole_.substr(0, 300'000), "cut short");
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

TEST_F(spoiled_ledger, of_another_format_is_refused) {
    std::string other = whole_;
    other[24] = 5;
    expect_refusal(other, "has format 5, this build reads format 4; use a newer build");
    other[24] = 1;
    expect_refusal(other, "has format 1, this build reads format 4; move it away");
}

// Its claims are where they were; only a process of an older build would not know of reader_slot, or of the words of grants.
class spoiled_ledger_of_a_format_before : public spoiled_ledger, public ::testing::WithParamInterface<char> {};

TEST_P(spoiled_ledger_of_a_format_before, is_taken_over_unless_it_is_in_use) {
    std::string older = whole_;
    older[24] = GetParam();
    std::ofstream{scratch_ / "locks", std::ios::binary | std::ios::trunc} << older;
    milestone sits;
    child user{[&] {
        struct flock slot {};
        slot.l_type = F_WRLCK;
        slot.l_start = off_t{1} << 40;
        slot.l_len = 1;
        const int file = ::open((scratch_ / "locks").c_str(), O_RDWR | O_CLOEXEC);
        sits.reach(::fcntl(file, F_SETLK, &slot) == 0 ? 'y' : 'n');
        ::pause();
        return 0;
    }};
    ASSERT_EQ(sits.await(), 'y');
    expect_refusal(older, "is used by an older build (format " + std::to_string(GetParam()) + ")");
    std::ofstream{scratch_ / "locks", std::ios::binary | std::ios::trunc} << older;
    user.kill();
    const auto kept = open();
    EXPECT_EQ(bytes_of(scratch_ / "locks")[24], 4);
    ledger_access in{*kept};
    EXPECT_EQ(numbers(in, "x"), std::vector<std::uint64_t>{1});
    EXPECT_FALSE(in.claim(in.name(in.find("x")).holders.first).has_word());
}
INSTANTIATE_TEST_SUITE_P(formats, spoiled_ledger_of_a_format_before, ::testing::Values(2, 3),
                         [](const auto& one) { return std::to_string(one.param); });

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
        ledger_access in{*kept};
        keep(in, "x");
        EXPECT_EQ(find_damage(in), "");
    }
}

}  // namespace
}  // namespace mortise::stores::host
