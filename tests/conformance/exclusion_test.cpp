// P1, P2: one at a time, whatever happens inside.
#include "checker/history/overlap.hpp"
#include "conformance/suite.hpp"
#include "support/waiting.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class exclusion : public lock_suite {};
EVERY_STORE_AND_KIND(exclusion);

TEST_P(exclusion, never_lets_two_in_and_tokens_rise) {
    const std::uint64_t times = rounds(500);
    constexpr int clients = 3;
    constexpr int threads = 4;
    std::deque<client> locks;
    for (int c = 0; c < clients; ++c) locks.push_back(make_client());
    overlap_checker checker;
    std::uint64_t plain = 0;  // not atomic: the lock must also order memory
    {
        std::vector<std::jthread> crowd;
        for (client& mine : locks)
            for (int t = 0; t < threads; ++t)
                crowd.emplace_back([&, t] {
                    const auto lock = make_lock(mine, "contended");
                    for (std::uint64_t i = 0; i < times; ++i) {
                        if ((i + static_cast<unsigned>(t)) % 4 == 0)
                            while (!lock->try_lock_for(plenty)) {
                            }
                        else
                            lock->lock();
                        const token mine_now = token_of(lock->hold());
                        checker.enter(can().tokens ? mine_now : token{checker.entries() + 1});
                        ++plain;
                        checker.leave();
                        lock->unlock();
                    }
                });
    }
    EXPECT_EQ(checker.entries(), clients * threads * times);
    EXPECT_EQ(checker.overlaps(), 0u);
    EXPECT_EQ(checker.token_disorders(), 0u);
    EXPECT_EQ(plain, clients * threads * times);
}

TEST_P(exclusion, one_object_may_be_shared_by_threads) {
    client locks = make_client();
    const auto lock = make_lock(locks, "shared");
    std::uint64_t plain = 0;
    const std::uint64_t rounds = scale(200);
    {
        std::vector<std::jthread> crowd;
        for (int t = 0; t < 4; ++t)
            crowd.emplace_back([&] {
                for (std::uint64_t i = 0; i < rounds; ++i) {
                    std::scoped_lock guard{*lock};
                    ++plain;
                }
            });
    }
    EXPECT_EQ(plain, 4 * rounds);
}

// C1 in small. The window between reading and writing the stock is wide open; only the lock closes it.
TEST_P(exclusion, a_ticket_shop_sells_every_ticket_once) {
    constexpr int stock_at_opening = 120;
    int stock = stock_at_opening;
    std::vector<int> sold;  // which ticket each buyer went home with
    {
        std::deque<client> counters;
        for (int c = 0; c < 3; ++c) counters.push_back(make_client());
        std::vector<std::jthread> buyers;
        for (client& counter : counters)
            for (int b = 0; b < 3; ++b)
                buyers.emplace_back([&] {
                    const auto tickets = make_lock(counter, "ticket");
                    for (bool more = true; more;) {
                        std::scoped_lock guard{*tickets};
                        const int seen = stock;
                        std::this_thread::yield();
                        more = seen > 0;
                        if (!more) continue;
                        stock = seen - 1;
                        sold.push_back(seen);
                    }
                });
    }
    const int taken = stock_at_opening - stock;
    EXPECT_EQ(stock, 0);
    EXPECT_EQ(sold.size(), static_cast<std::size_t>(stock_at_opening)) << "oversold";
    EXPECT_EQ(std::set<int>(sold.begin(), sold.end()).size(), static_cast<std::size_t>(taken)) << "lost";
}

TEST_P(exclusion, an_exception_frees_the_lock_before_its_handler_runs) {
    client locks = make_client();
    client others = make_client();
    const auto mine = make_lock(locks, "thrown");
    const auto theirs = make_lock(others, "thrown");
    bool free_in_handler = false;
    try {
        std::scoped_lock guard{*mine};
        EXPECT_FALSE(theirs->try_lock());
        throw std::runtime_error("the work failed");
    } catch (const std::runtime_error&) {
        free_in_handler = gets_what_was_unlocked([&] { return theirs->try_lock(); });
    }
    ASSERT_TRUE(free_in_handler);
    theirs->unlock();
}

TEST_P(exclusion, names_that_look_alike_do_not_meet) {
    std::vector<std::string> names{"a",    "A",   "a/b", "a%2Fb", "a%2fb", "..",     ".",       "../a",    "/",
                                   "{a}",  "{}",  "a:b", "a b",   " a",    "a ",     "a*",      "?",       "a\\b",
                                   "'a'",  "a;b", "%",   "%00",   "a\"b",  "\u00e4", "a\u0308", "\u4e00",  "0",
                                   "00",   "-",   "#a",  "a&b=c", "{a}b",  "x{a}",   "lock",    "lock:a",  "a:queue",
                                   "null", "a@b", "$a",  "`a`",   "a.b",   "a..b",   "~a",      "a\u00a0", "--a"};
    names.emplace_back(200, 'n');
    names.push_back(std::string(199, 'n') + "m");
    names.emplace_back(199, 'n');
    client locks = make_client();
    client others = make_client();
    std::vector<std::unique_ptr<lock_driver>> held;
    for (const std::string& name : names) {
        held.push_back(make_lock(locks, name));
        ASSERT_TRUE(held.back()->try_lock()) << name;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        EXPECT_TRUE(held[i]->hold().valid()) << names[i];
        EXPECT_EQ(held[i]->hold().name(), names[i]);
        EXPECT_FALSE(make_lock(others, names[i])->try_lock()) << names[i];
    }
    // Freeing one frees no other.
    held[0]->unlock();
    for (std::size_t i = 1; i < names.size(); ++i) EXPECT_FALSE(make_lock(others, names[i])->try_lock()) << names[i];
    const auto freed = make_lock(others, names[0]);
    EXPECT_TRUE(gets_what_was_unlocked([&] { return freed->try_lock(); }));
}

}  // namespace
}  // namespace mortise::testing
