// What clients in several processes see of each other's claims.
#include "core/engine.hpp"
#include "support/host_suite.hpp"

#include <mortise/mutex.hpp>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;

class host_store : public host_suite {};

TEST_F(host_store, a_hold_lasts_while_its_process_does_unless_a_lease_is_asked_for) {
    client locks{url_};
    const hold plain = locks.acquire("plain");
    EXPECT_EQ(plain.valid_until(), boot_clock::time_point::max());
    EXPECT_EQ(plain.remaining(), std::chrono::nanoseconds::max());
    const hold leased = locks.acquire("leased", {.lease = 10s});
    EXPECT_LE(leased.valid_until(), boot_clock::now() + 10s);
    client sparing{url_, {.lease = 5s}};
    EXPECT_LE(sparing.acquire("by the client").valid_until(), boot_clock::now() + 5s);
}

TEST_F(host_store, a_detached_claim_outlives_its_process_and_ends_with_its_lease) {
    child other{[&] {
        client locks{url_};
        const hold mine = locks.acquire("x", {.lease = 4s, .kept_by = kept_by::lease});
        return mine.valid() ? 0 : 1;
    }};
    ASSERT_EQ(other.wait(), 0);
    client locks{url_};
    EXPECT_EQ(locks.try_acquire("x").reason(), errc::busy);
    EXPECT_TRUE(locks.try_acquire("x", {.wait = 20s}));
}

TEST_F(host_store, a_detached_claim_is_released_by_another_process_that_knows_its_id) {
    client locks{url_};
    claim_id secret;
    {
        const hold mine = locks.acquire("x", {.lease = 1h, .kept_by = kept_by::lease});
        secret = mine.id();
    }
    EXPECT_EQ(locks.try_acquire("x").reason(), errc::busy);
    child other{[&] {
        client own{url_};
        std::error_code ec;
        return own.release("x", secret, ec) == release_result::released ? 0 : 1;
    }};
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(locks.try_acquire("x"));
}

TEST_F(host_store, two_clients_on_one_directory_exclude_each_other_in_one_process) {
    client one{url_};
    client other{url_ + "/"};
    hold mine = one.acquire("x");
    EXPECT_EQ(other.try_acquire("x").reason(), errc::busy);
    std::atomic<bool> got{false};
    std::thread waiter{[&] { got = static_cast<bool>(other.acquire("x", {.wait = 20s})); }};
    mine.release();
    waiter.join();
    EXPECT_TRUE(got);
    {
        client third{url_};
        EXPECT_TRUE(third.try_acquire("y"));
    }
    // The third one's leaving has cost nobody the process slot.
    mine = one.acquire("x");
    child stranger{[&] {
        client own{url_};
        return own.try_acquire("x").reason() == errc::busy ? 0 : 1;
    }};
    EXPECT_EQ(stranger.wait(), 0);
}

// Without renewal, though it is alive and not stopped.
TEST_F(host_store, a_lease_ends_for_its_holder_and_for_the_others) {
    milestone entered;
    milestone taken;
    child other{[&] {
        client locks{url_};
        hold mine = locks.acquire("x", {.lease = 300ms, .renew = renew::off});
        entered.reach();
        taken.await();
        if (mine.valid()) return 1;
        if (!eventually([&] { return mine.lost().stop_requested(); })) return 2;
        return mine.release() == release_result::taken_over ? 0 : 3;
    }};
    entered.await();
    client locks{url_};
    const attempt got = locks.try_acquire("x", {.wait = 20s});
    ASSERT_TRUE(got) << got.refusal().describe();
    taken.reach();
    EXPECT_EQ(other.wait(), 0);
}

spi::listing list(client& locks) {
    std::promise<spi::listing> said;
    core::access::engine_of(locks)->store().list([&](spi::listing all) { said.set_value(std::move(all)); });
    return said.get_future().get();
}

bool break_hold(client& locks, const std::string& name, std::uint64_t counter) {
    std::error_code ec;
    const bool broken = locks.break_lock(name, token::of(counter, 0), "as a test", ec);
    EXPECT_FALSE(ec) << ec.message();
    return broken;
}

TEST_F(host_store, lists_thousands_part_by_part) {
    client locks{url_};
    std::vector<hold> holds;
    std::vector<std::string> expected;
    for (int i = 0; i < 3000; ++i) holds.push_back(locks.acquire("n" + std::to_string(i)));
    for (const hold& one : holds) expected.push_back(one.name());
    std::ranges::sort(expected);
    std::vector<std::string> names;
    for (const spi::listed& one : list(locks).holds) names.push_back(one.name);
    EXPECT_EQ(names, expected);
    names.clear();
    std::size_t parts = 0;
    locks.list_in_parts([&](const std::vector<held_lock>& some) {
        ++parts;
        for (const held_lock& one : some) names.push_back(one.name);
    });
    EXPECT_GT(parts, 3u);
    std::ranges::sort(names);
    EXPECT_EQ(names, expected);
}

TEST_F(host_store, lists_what_other_processes_hold_and_wait_for) {
    client locks{url_};
    EXPECT_TRUE(list(locks).holds.empty());
    const hold own = locks.acquire("a");
    child other = holder({.label = "nightly"});
    child next = waiter(1);
    const spi::listing all = list(locks);
    EXPECT_FALSE(all.failed);
    ASSERT_EQ(all.holds.size(), 2u);
    EXPECT_EQ(all.holds[0].name, "a");
    EXPECT_EQ(all.holds[0].holder.pid, ::getpid());
    EXPECT_EQ(all.holds[0].holder.token, own.token());
    EXPECT_EQ(all.holds[0].waiting, 0u);
    EXPECT_EQ(all.holds[1].name, "x");
    EXPECT_EQ(all.holds[1].holder.pid, other.pid());
    EXPECT_EQ(all.holds[1].holder.label, "nightly");
    EXPECT_EQ(all.holds[1].capacity, 1u);
    EXPECT_EQ(all.holds[1].waiting, 1u);
    next.kill();
    other.kill();
    ASSERT_EQ(list(locks).holds.size(), 1u) << "the dead hold nothing";
    EXPECT_EQ(list(locks).holds[0].name, "a");
}

TEST_F(host_store, a_broken_hold_is_known_to_its_holder_and_to_the_next) {
    milestone entered;
    child other{[&] {
        client locks{url_};
        hold mine = locks.acquire("x");
        entered.reach();
        if (!eventually([&] { return mine.lost().stop_requested(); })) return 1;
        if (mine.valid()) return 2;
        const release_result result = mine.release();
        return result == release_result::taken_over || result == release_result::expired ? 0 : 3;
    }};
    entered.await();
    client locks{url_};
    const spi::listing all = list(locks);
    ASSERT_EQ(all.holds.size(), 1u);
    const token its = all.holds[0].holder.token;
    EXPECT_FALSE(break_hold(locks, "x", its.counter() + 1)) << "somebody else's";
    EXPECT_FALSE(break_hold(locks, "y", its.counter()));
    EXPECT_EQ(locks.try_acquire("x").reason(), errc::busy);
    EXPECT_TRUE(break_hold(locks, "x", its.counter()));
    EXPECT_FALSE(break_hold(locks, "x", its.counter())) << "once only";
    attempt got = locks.try_acquire("x");
    ASSERT_TRUE(got) << got.refusal().describe();
    EXPECT_GT(got->token(), its);
    EXPECT_EQ(other.wait(), 0);
}

TEST_F(host_store, writes_down_who_broke_what_and_why) {
    client locks{url_, {.label = "oncall"}};
    const hold mine = locks.acquire("deploy", {.label = "nightly"});
    std::error_code ec;
    EXPECT_FALSE(locks.break_lock("deploy", token::of(mine.token().counter() + 1, 0), "too late", ec));
    EXPECT_TRUE(locks.break_lock("deploy", mine.token(), "stuck since Monday", ec));
    std::ifstream record{directory_ + "/record"};
    std::string line, more;
    ASSERT_TRUE(std::getline(record, line));
    EXPECT_FALSE(std::getline(record, more)) << more;
    EXPECT_THAT(line,
                ::testing::MatchesRegex("20..-..-..T..:..:..Z broke 'deploy', held by .* \\(nightly\\).*, token " +
                                        to_string(mine.token()) + "; by .* \\(oncall\\): stuck since Monday"));
}

TEST_F(host_store, a_broken_hold_goes_to_whoever_waits_in_another_process) {
    client locks{url_};
    const hold mine = locks.acquire("x");
    child next = waiter(1, [](const hold& its) { return its.valid() ? 0 : 1; });
    EXPECT_TRUE(break_hold(locks, "x", mine.token().counter()));
    EXPECT_EQ(next.wait(), 0);
    EXPECT_FALSE(mine.valid());
}

TEST_F(host_store, a_waiter_is_sent_away_when_the_files_are_gone) {
    child holds = holder();
    client locks{url_};
    auto waits = std::async(std::launch::async, [&] { return locks.try_acquire("x", {.wait = 30s}); });
    EXPECT_TRUE(eventually([&] { return locks.list().at(0).waiting == 1; }));
    std::filesystem::rename(directory_, directory_ + ".gone");
    const attempt got = waits.get();
    ASSERT_FALSE(got);
    EXPECT_EQ(got.reason(), errc::unreachable) << got.refusal().describe();
    std::error_code ec;
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_EQ(ec, errc::unreachable);
}

TEST_F(host_store, what_a_program_prints_into_closed_descriptors_does_not_land_in_the_store) {
    child careless{[&] {
        for (int fd = 0; fd < 3; ++fd) ::close(fd);
        client locks{url_};
        const hold mine = locks.acquire("x");
        for (int fd = 0; fd < 3; ++fd)
            if (::write(fd, "something to say", 16) >= 0) return 1;
        return 0;
    }};
    EXPECT_EQ(careless.wait(), 0);
    EXPECT_EQ(complaint(url_), "none");
}

}  // namespace
}  // namespace mortise::inline v0::stores::host
