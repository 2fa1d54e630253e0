// All names or none, for threads, for processes and over two stores.
#include "conformance/suite.hpp"
#include "support/children.hpp"
#include "support/recording_observer.hpp"
#include "support/shared_page.hpp"
#include "support/tapped_client.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

static_assert(timed_lockable<multi_lock>);

class multi : public store_suite {
protected:
    static bool is_free(client& others, std::string_view name) { return static_cast<bool>(others.try_acquire(name)); }
    // After a wait that was given up: its withdrawal may still be on its way.
    static bool becomes_free(client& others, std::string_view name) {
        return static_cast<bool>(others.try_acquire(name, {.wait = plenty}));
    }
};
EVERY_STORE(multi);

// Five accounts, and whoever is inside of each of them.
struct accounts {
    static constexpr std::size_t count = 5;
    std::array<std::atomic<int>, count> inside{};
    std::array<std::uint64_t, count> entries{};  // not atomic: the lock must also order memory
    std::atomic<std::uint64_t> overlaps{0};
    std::atomic<std::uint64_t> odd_answers{0};

    std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const auto one : entries) sum += one;
        return sum;
    }
};

// Takes two or three of the accounts in an order of its own, again and again; answers how many it entered.
std::uint64_t cross(client& locks, accounts& all, std::uint64_t rounds, unsigned seed) {
    std::minstd_rand dice{seed + 1};
    std::vector<std::size_t> order{0, 1, 2, 3, 4};
    std::uint64_t entered = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        std::shuffle(order.begin(), order.end(), dice);
        const std::span<const std::size_t> chosen{order.data(), 2 + dice() % 2};
        std::vector<std::string> names;
        for (const std::size_t one : chosen) names.push_back("account " + std::to_string(one));
        multi_lock several{locks, names};
        multi_hold handle;
        if (dice() % 4 == 0) {
            multi_attempt got = several.try_acquire_for(std::chrono::microseconds{dice() % 2000});
            if (!got) {
                // So short a wait may be over before the store was heard of: then it is unreachable.
                const bool fine =
                    got.reason() == errc::timed_out || got.reason() == errc::busy || got.reason() == errc::unreachable;
                if (!fine) ++all.odd_answers;
                continue;
            }
            handle = *std::move(got);
        } else {
            several.lock();
        }
        for (const std::size_t one : chosen) {
            if (all.inside[one].fetch_add(1, std::memory_order_relaxed) != 0) ++all.overlaps;
            ++all.entries[one];
            ++entered;
        }
        for (const std::size_t one : chosen) all.inside[one].fetch_sub(1, std::memory_order_relaxed);
        if (handle) {
            handle.release();
        } else {
            several.unlock();
        }
    }
    return entered;
}

TEST_P(multi, crossed_locks_of_threads_never_deadlock_and_never_overlap) {
    const std::uint64_t times = rounds(60);
    std::deque<client> locks;
    for (int c = 0; c < 2; ++c) locks.push_back(make_client());
    accounts all;
    std::atomic<std::uint64_t> entered{0};
    {
        std::vector<std::jthread> crowd;
        for (unsigned t = 0; t < 6; ++t) crowd.emplace_back([&, t] { entered += cross(locks[t % 2], all, times, t); });
    }
    EXPECT_EQ(all.overlaps, 0u);
    EXPECT_EQ(all.odd_answers, 0u);
    EXPECT_EQ(all.total(), entered);
    EXPECT_GT(entered, 0u);
}

TEST_P(multi, crossed_locks_of_processes_never_deadlock_and_never_overlap) {
    if (!GetParam().store->spans_processes()) GTEST_SKIP() << "a store of one process";
    const std::uint64_t times = rounds(60);
    struct page {
        accounts all;
        std::atomic<std::uint64_t> entered{0};
    };
    const shared_page<page> shared;
    std::vector<child> crowd;
    for (unsigned c = 0; c < 4; ++c)
        crowd.emplace_back([&, c] {
            client mine = make_client();
            shared->entered += cross(mine, shared->all, times, 100 + c);
            return 0;
        });
    for (child& one : crowd) EXPECT_EQ(one.wait(90s), 0);
    EXPECT_EQ(shared->all.overlaps, 0u);
    EXPECT_EQ(shared->all.odd_answers, 0u);
    EXPECT_EQ(shared->all.total(), shared->entered);
    EXPECT_GT(shared->entered, 0u);
}

TEST_P(multi, all_or_none) {
    client locks = make_client();
    client others = make_client();
    multi_lock three{locks, {"c", "a", "b"}};
    {
        std::scoped_lock guard{three};
        for (const char* name : {"a", "b", "c"}) {
            EXPECT_FALSE(is_free(others, name));
            EXPECT_TRUE(three.hold().at(name).valid());
        }
        if (locks.promises().tokens) {
            EXPECT_NE(three.hold().at("a").token(), token{});
        }
    }
    const hold theirs = others.acquire("b");
    EXPECT_FALSE(three.try_lock());
    EXPECT_FALSE(answer_to(20ms, [&](auto wait) { return three.try_lock_for(wait); }));
    EXPECT_FALSE(
        answer_to(20ms, [&](auto wait) { return three.try_lock_until(std::chrono::steady_clock::now() + wait); }));
    EXPECT_TRUE(becomes_free(others, "a"));  // a wait that was over before it came to b may still be leaving
    const multi_attempt at_once = three.try_acquire();
    EXPECT_EQ(at_once.reason(), errc::busy);
    EXPECT_EQ(at_once.in_the_way(), "b");
    const multi_attempt later = answer_to(
        20ms, [&](auto wait) { return three.try_acquire_for(wait); },
        [](const multi_attempt& said) { return said.in_the_way() != "a"; });  // not over before it came to b
    EXPECT_EQ(later.reason(), errc::timed_out);
    EXPECT_EQ(later.in_the_way(), "b");
    EXPECT_TRUE(becomes_free(others, "a"));
    EXPECT_TRUE(becomes_free(others, "c"));
}

TEST_P(multi, excludes_a_mutex_and_is_excluded_by_it) {
    client locks = make_client();
    client others = make_client();
    multi_lock both{locks, {"a", "b"}};
    mutex b{others, "b"};
    both.lock();
    EXPECT_FALSE(b.try_lock());
    both.unlock();
    {
        std::scoped_lock guard{b};
        EXPECT_FALSE(both.try_lock());
    }
    // std::lock, which tries and backs off, over a lock of several names and one more.
    mutex c{locks, "c"};
    std::scoped_lock guard{both, c};
    EXPECT_FALSE(is_free(others, "a"));
    EXPECT_FALSE(is_free(others, "c"));
}

TEST_P(multi, a_cancelled_wait_leaves_nothing_behind) {
    const auto seen = std::make_shared<recording_observer>();
    client locks = make_client({.observer = seen});
    client others = make_client();
    std::stop_source stop;
    multi_lock both{locks, {"a", "b"}, {.stop = stop.get_token()}};
    std::error_code said;
    {
        const hold theirs = others.acquire("b");
        std::jthread waits{[&] { both.lock(said); }};
        ASSERT_TRUE(seen->wait_for(event_kind::waited, 1, plenty));
        EXPECT_FALSE(is_free(others, "a"));
        stop.request_stop();
        waits.join();
        EXPECT_EQ(said, errc::cancelled);
        EXPECT_TRUE(becomes_free(others, "a"));
    }
    EXPECT_TRUE(becomes_free(others, "b"));
}

TEST_P(multi, if_one_is_lost_all_are_free) {
    if (!can().tokens) GTEST_SKIP() << no_tokens;
    tapped_client admin{store_at_url()};
    client locks = make_client();
    multi_lock three{locks, {"a", "b", "c"}};
    multi_hold held = three.acquire();
    const std::stop_token lost = held.lost();
    std::atomic<int> told{0};
    std::optional<multi_attempt> anew;
    held.on_lost([&] {
        anew.emplace(three.try_acquire_for(plenty));  // nothing of the old ones is in the way
        ++told;
    });
    ASSERT_TRUE(admin.locks().try_acquire("other"));
    ASSERT_TRUE(admin.break_hold("b", held.at("b").token()));
    ASSERT_TRUE(eventually([&] { return told == 1; }));
    EXPECT_TRUE(lost.stop_requested());
    EXPECT_FALSE(held.valid());
    ASSERT_TRUE(*anew) << anew->refusal().describe();
    EXPECT_GT((*anew)->at("b").token(), held.at("b").token());
    EXPECT_NE(held.release(), release_result::released);
    EXPECT_TRUE((*anew)->valid()) << "the old handle releases nothing of the new one";
}

TEST_P(multi, ends_with_its_leases) {
    client locks = make_client();
    if (!locks.promises().leases) GTEST_SKIP() << "holds of this store do not end by time";
    client others = make_client();
    multi_lock both{locks, {"a", "b"}, {.lease = 1s, .renew = renew::off}};
    both.lock();
    multi_lock theirs{others, {"a", "b"}};
    EXPECT_TRUE(theirs.try_lock_for(plenty));
    EXPECT_FALSE(both.hold().valid());
    EXPECT_TRUE(eventually([&] { return both.hold().lost().stop_requested(); }));
    std::error_code ec;
    both.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
    EXPECT_TRUE(theirs.hold().valid());
    theirs.unlock();
}

TEST_P(multi, a_killed_process_frees_all) {
    if (!GetParam().store->spans_processes()) GTEST_SKIP() << "a store of one process";
    milestone taken;
    child victim{[&] {
        client mine = make_client({.lease = 3s});
        multi_lock three{mine, {"a", "b", "c"}};
        three.lock();
        taken.reach();
        std::this_thread::sleep_for(90s);
        return 0;
    }};
    taken.await();
    client locks = make_client();
    multi_lock all{locks, {"c", "b", "a"}};
    EXPECT_EQ(all.try_acquire().in_the_way(), "a");
    victim.kill();
    EXPECT_TRUE(all.try_acquire_for(plenty));
}

TEST_P(multi, two_stores_are_one_lock_in_whatever_order_they_are_given) {
    if (!opened_by_address()) GTEST_SKIP() << no_address << ", and by their addresses stores are put in order";
    static std::atomic<int> last{0};
    const std::string memory = "memory:multi-" + std::to_string(++last);
    const std::uint64_t times = rounds(100);
    std::uint64_t plain = 0;
    const auto work = [&](bool here_first) {
        client there = make_client();
        client here{memory};
        std::vector<multi_lock::place> places{{there, "n"}, {here, "n"}};
        if (here_first) std::swap(places[0], places[1]);
        multi_lock both{places};
        for (std::uint64_t i = 0; i < times; ++i) {
            std::scoped_lock guard{both};
            ++plain;
        }
    };
    client there = make_client();
    client here{memory};
    {
        std::jthread one{work, true};
        std::jthread other{work, false};
    }
    EXPECT_EQ(plain, 2 * times);

    multi_lock both{{{there, "n"}, {here, "n"}}};
    multi_hold held = both.acquire();
    ASSERT_EQ(held.holds().size(), 2u);
    EXPECT_NE(&held.at(there, "n"), &held.at(here, "n"));
    client others = make_client();
    client others_here{memory};
    EXPECT_FALSE(is_free(others, "n"));
    EXPECT_FALSE(is_free(others_here, "n"));
    held.release();
    const hold in_the_way = others_here.acquire("n");
    EXPECT_EQ(both.try_acquire().reason(), errc::busy);
    EXPECT_TRUE(is_free(others, "n"));
}

TEST_P(multi, a_name_of_one_store_is_taken_once_whoever_gives_it) {
    if (!opened_by_address())
        GTEST_SKIP() << no_address << ", and only by that two clients know that they share a store";
    client one = make_client();
    client two = make_client();
    multi_lock both{{{one, "n"}, {two, "n"}, {one, "n"}}};
    EXPECT_EQ(both.names().size(), 1u);
    EXPECT_TRUE(both.try_lock());
    both.unlock();
}

TEST_P(multi, hostile_names_are_refused_and_many_are_not) {
    client locks = make_client();
    client others = make_client();
    const auto said = [&](const std::vector<std::string>& names) -> std::error_code {
        try {
            multi_lock{locks, names};
            return {};
        } catch (const error& e) {
            return e.code();
        }
    };
    EXPECT_EQ(said({}), errc::invalid_option);
    EXPECT_EQ(said({"a", ""}), errc::invalid_name);
    EXPECT_EQ(said({std::string(201, 'x')}), errc::invalid_name);
    EXPECT_EQ(said({"a", "b\n"}), errc::invalid_name);
    EXPECT_THROW((multi_lock{std::vector<multi_lock::place>{}}), error);
    EXPECT_THROW((multi_lock{locks, {"a"}, {.lease = 1ns}}), error);
    EXPECT_EQ(said(std::vector<std::string>(1000, "same")), std::error_code{});

    std::vector<std::string> many;
    for (int i = 0; i < 200; ++i) many.push_back("many " + std::to_string(i * 37 % 200));
    multi_lock all{locks, many};
    const multi_hold held = all.acquire();
    EXPECT_EQ(held.holds().size(), 200u);
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(is_free(others, "many 199"));
}

}  // namespace
}  // namespace mortise::testing
