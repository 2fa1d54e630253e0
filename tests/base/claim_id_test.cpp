// Ids never repeat: not over threads, not over a fork.
#include "base/process.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/owner.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mortise {
namespace {

// Runs `what` in a child and answers the bytes it wrote. The child ends without destructors or exit handlers.
template <class T, class What>
T in_child(What what) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const T result = what();
        ::_exit(::write(ends[1], &result, sizeof result) == static_cast<ssize_t>(sizeof result) ? 0 : 1);
    }
    ::close(ends[1]);
    T result{};
    EXPECT_EQ(::read(ends[0], &result, sizeof result), static_cast<ssize_t>(sizeof result));
    ::close(ends[0]);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return result;
}

using handful = std::array<claim_id, 100>;  // more than one thread's stock
handful draw() {
    handful ids;
    for (claim_id& id : ids) id = claim_id::random();
    return ids;
}

TEST(claim_id_test, is_unique_over_threads) {
    constexpr int threads = 8;
    constexpr int each = 10'000;
    std::mutex mutex;
    std::unordered_set<claim_id> all;
    {
        std::vector<std::jthread> crowd;
        for (int t = 0; t < threads; ++t)
            crowd.emplace_back([&] {
                std::vector<claim_id> mine;
                for (int i = 0; i < each; ++i) mine.push_back(claim_id::random());
                std::scoped_lock guard{mutex};
                all.insert(mine.begin(), mine.end());
            });
    }
    EXPECT_EQ(all.size(), static_cast<std::size_t>(threads) * each);
    EXPECT_FALSE(all.contains(claim_id{}));
}

TEST(claim_id_test, differs_between_a_child_and_its_parent) {
    static_cast<void>(claim_id::random());  // some are in stock when the process forks
    const handful theirs = in_child<handful>(draw);
    const handful others = in_child<handful>(draw);
    const handful ours = draw();
    std::set<claim_id> all(ours.begin(), ours.end());
    all.insert(theirs.begin(), theirs.end());
    all.insert(others.begin(), others.end());
    EXPECT_EQ(all.size(), 3 * ours.size());
}

TEST(claim_id_test, is_written_as_32_hex_digits) {
    EXPECT_EQ(claim_id{}.hex(), std::string(32, '0'));
    EXPECT_EQ((claim_id{{0x0123456789abcdefu, 0xfedcba9876543210u}}.hex()), "0123456789abcdeffedcba9876543210");
    EXPECT_EQ(claim_id::random().hex().size(), 32u);
}

TEST(owner_test, every_object_is_somebody_else) {
    const owner one;
    const owner other;
    EXPECT_NE(one.id(), other.id());
    EXPECT_EQ(one.id() % 2, 1u) << "and never a thread";
}

TEST(process, a_fork_starts_a_new_generation_for_the_child_alone) {
    const std::uint64_t before = base::fork_generation();
    EXPECT_EQ(in_child<std::uint64_t>([] { return base::fork_generation(); }), before + 1);
    EXPECT_EQ(base::fork_generation(), before);
}

TEST(process, knows_itself) {
    EXPECT_EQ(base::process_id(), ::getpid());
    EXPECT_NE(in_child<std::int64_t>([] { return base::process_id(); }), ::getpid()) << "a child is another process";
    EXPECT_FALSE(base::host_name().empty());
    EXPECT_EQ(base::program_name(), "base_tests");
}

}  // namespace
}  // namespace mortise
