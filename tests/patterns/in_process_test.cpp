// The patterns among threads, on memory:.
#include "patterns/fleet.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>
#include <mortise/patterns/consistent_cache.hpp>
#include <mortise/patterns/once_per_period.hpp>
#include <mortise/patterns/sharded_stock.hpp>
#include <mortise/patterns/single_flight.hpp>
#include <mortise/patterns/striped_mutex.hpp>
#include <mortise/patterns/token_keeper.hpp>

#include <atomic>
#include <latch>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class in_process : public ::testing::Test {
protected:
    client locks{"memory:"};
    memory_storage storage;
};

struct cached_values : in_process {};

TEST_F(cached_values, are_rebuilt_by_one_of_many) {
    client elsewhere{"memory:"};
    cached<std::string> one{locks, storage, "pages"};
    cached<std::string> other{elsewhere, storage, "pages"};
    std::atomic<int> calls = 0;
    std::latch together{20};
    in_threads(20, [&](int i) {
        together.arrive_and_wait();
        EXPECT_EQ((i % 2 == 0 ? one : other)
                      .get("front",
                           [&] {
                               ++calls;
                               std::this_thread::sleep_for(20ms);
                               return std::optional<std::string>{"page"};
                           }),
                  "page");
    });
    EXPECT_EQ(calls, 1);
}

TEST_F(cached_values, may_be_nothing_for_a_while) {
    cached<int> numbers{locks, storage, "numbers"};
    int calls = 0;
    const auto make = [&]() -> std::optional<int> { return ++calls, std::nullopt; };
    EXPECT_EQ(numbers.get("x", make), std::nullopt);
    EXPECT_EQ(numbers.get("x", make), std::nullopt);
    EXPECT_EQ(calls, 1);
    numbers.invalidate("x");
    EXPECT_EQ(numbers.get("x", [] { return std::optional{7}; }), 7);
    EXPECT_EQ(numbers.get("x", make), 7);
}

TEST_F(cached_values, that_cannot_be_made_are_made_by_the_next) {
    cached<int> numbers{locks, storage, "numbers"};
    std::atomic<int> failures = 0;
    std::atomic<int> calls = 0;
    in_threads(8, [&](int) {
        try {
            EXPECT_EQ(numbers.get("x",
                                  [&]() -> std::optional<int> {
                                      if (++calls <= 3) throw std::runtime_error("backend down");
                                      return 7;
                                  }),
                      7);
        } catch (const std::runtime_error&) {
            ++failures;
        }
    });
    EXPECT_EQ(failures, 3);
    EXPECT_EQ(calls, 4);
}

TEST_F(cached_values, are_served_while_one_rebuilds) {
    cached<int> numbers{locks, storage, "numbers", {.fresh_for = 1ms, .stale_for = 1h}};
    EXPECT_EQ(numbers.get("x", [] { return std::optional{1}; }), 1);
    std::this_thread::sleep_for(5ms);
    std::optional<int> meanwhile;
    EXPECT_EQ(
        numbers.get("x",
                    [&] {
                        std::jthread{[&] { meanwhile = numbers.get("x", [] { return std::optional{3}; }); }}.join();
                        return std::optional{2};
                    }),
        2);
    EXPECT_EQ(meanwhile, 1);
}

// It hangs; the next is let in after rebuild_within, and what the first brings at last is not stored.
TEST_F(cached_values, that_come_too_late_are_refused) {
    cached<int> slow{locks, storage, "numbers", {.rebuild_within = 100ms}};
    client elsewhere{"memory:"};
    cached<int> quick{elsewhere, storage, "numbers", {.rebuild_within = 100ms}};
    EXPECT_EQ(slow.get("x",
                       [&] {
                           std::jthread{[&] { EXPECT_EQ(quick.get("x", [] { return std::optional{2}; }), 2); }}.join();
                           return std::optional{1};
                       }),
              2);
    EXPECT_EQ(quick.get("x", [] { return std::optional{3}; }), 2);
}

// Also among threads that share one object.
TEST_F(cached_values, are_taken_over_from_a_thread_that_hangs) {
    cached<int> numbers{locks, storage, "numbers", {.rebuild_within = 100ms}};
    std::latch hangs{1};
    std::latch on{1};
    std::jthread slow{[&] {
        EXPECT_EQ(numbers.get("x",
                              [&] {
                                  hangs.count_down();
                                  on.wait();
                                  return std::optional{1};
                              }),
                  2);
    }};
    hangs.wait();
    EXPECT_EQ(numbers.get("x", [] { return std::optional{2}; }), 2);
    on.count_down();
}

TEST_F(cached_values, are_waited_for_as_long_as_said) {
    cached<int> numbers{locks, storage, "numbers", {.wait = 30ms}};
    client elsewhere{"memory:"};
    cached<int> other{elsewhere, storage, "numbers", {.wait = 30ms}};
    numbers.get("x", [&] {
        for (auto* each : {&numbers, &other})
            std::jthread{[&] {
                try {
                    each->get("x", [] { return std::optional{3}; });
                    ADD_FAILURE() << "it did not wait";
                } catch (const error& e) {
                    EXPECT_EQ(e.code(), errc::timed_out) << e.what();
                }
            }}.join();
        return std::optional{1};
    });
}

TEST_F(cached_values, that_need_themselves_are_refused) {
    cached<int> numbers{locks, storage, "numbers"};
    try {
        numbers.get("x", [&] { return numbers.get("x", [] { return std::optional{1}; }); });
        ADD_FAILURE() << "it came back";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::would_deadlock) << e.what();
    }
}

TEST_F(cached_values, survive_a_cache_that_forgets) {
    cached<int> numbers{locks, storage, "numbers"};
    EXPECT_EQ(numbers.get("x",
                          [&] {
                              storage.forget("x");
                              return std::optional{1};
                          }),
              1);
    EXPECT_EQ(numbers.get("x", [] { return std::optional{2}; }), 2);
}

struct striped : in_process {};

TEST_F(striped, keys_share_a_bounded_set_of_locks) {
    striped_mutex accounts{locks, "account", 4};
    std::set<std::string> names;
    for (int i = 0; i < 100; ++i) names.insert(accounts[std::to_string(i)].name());
    EXPECT_EQ(names.size(), 4U);
    const auto both = accounts.names({"alice", "bob", "alice"});
    EXPECT_LE(both.size(), 2U);
    multi_lock together{locks, both};
    together.lock();
    EXPECT_FALSE(std::unique_lock(accounts["bob"], std::try_to_lock).owns_lock());
    together.unlock();
    EXPECT_THROW((striped_mutex{locks, "account", 0}), error);
}

struct once : in_process {};

TEST_F(once, is_not_done_again_in_its_period) {
    once_per_period job{locks, "report", 10s};
    client elsewhere{"memory:"};
    once_per_period same{elsewhere, "report", 10s};
    int runs = 0;
    EXPECT_TRUE(job.try_run([&] { ++runs; }));
    EXPECT_FALSE(job.try_run([&] { ++runs; }));
    EXPECT_FALSE(same.try_run([&] { ++runs; }));
    EXPECT_EQ(runs, 1);
}

TEST_F(once, is_done_again_in_the_next) {
    once_per_period job{locks, "report", 200ms};
    EXPECT_TRUE(job.try_run([] {}));
    EXPECT_TRUE(eventually([&] { return job.try_run([] {}); }, 30s));
}

TEST_F(once, keeps_others_out_while_it_runs) {
    once_per_period job{locks, "report", 200ms};
    EXPECT_TRUE(job.try_run([&] {
        std::this_thread::sleep_for(600ms);
        EXPECT_FALSE(job.try_run([] {}));
    }));
    EXPECT_TRUE(eventually([&] { return job.try_run([] {}); }, 30s));
}

TEST_F(once, keeps_others_out_no_longer_than_said) {
    once_per_period job{locks, "report", 200ms, {.at_most = 150ms}};
    bool again = false;
    EXPECT_TRUE(job.try_run([&] { again = eventually([&] { return job.try_run([] {}); }, 30s); }));
    EXPECT_TRUE(again);
}

TEST_F(once, even_if_it_throws) {
    once_per_period job{locks, "report", 10s};
    EXPECT_THROW(job.try_run([] { throw std::runtime_error("disk full"); }), std::runtime_error);
    EXPECT_FALSE(job.try_run([] {}));
}

TEST_F(once, refuses_periods_that_make_no_sense) {
    EXPECT_THROW((once_per_period{locks, "report", 0s}), error);
    EXPECT_THROW((once_per_period{locks, "report", 1s, {.slack = 1s}}), error);
    EXPECT_THROW((once_per_period{locks, "report", 48h}), error);
}

struct consistent : in_process {
    memory_storage database;
};

TEST_F(consistent, reads_what_was_written) {
    consistent_cache<int> prices{locks, storage, database, "prices"};
    EXPECT_EQ(prices.get("tea"), std::nullopt);
    prices.put("tea", 3);
    EXPECT_EQ(prices.get("tea"), 3);
    prices.update("tea", [](std::optional<int> before) { return before.value_or(0) + 1; });
    storage.forget("tea");
    EXPECT_EQ(prices.get("tea"), 4);
    prices.erase("tea");
    EXPECT_EQ(prices.get("tea"), std::nullopt);
}

// As if each had lost its lock at its first step: another has been here, with a larger token.
TEST_F(consistent, refuses_a_writer_that_was_replaced) {
    consistent_cache<int> prices{locks, storage, database, "prices"};
    prices.put("tea", 3);
    ASSERT_TRUE(database.seal("tea", token{~0ULL}));
    try {
        prices.put("tea", 4);
        ADD_FAILURE() << "it was written";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::lost);
        EXPECT_THAT(e.what(), HasSubstr("larger token"));
    }
    EXPECT_EQ(database.read("tea")->bytes, "+3");
}

TEST_F(consistent, does_not_trust_what_is_being_changed) {
    consistent_cache<int> prices{locks, storage, database, "prices"};
    client elsewhere{"memory:"};
    consistent_cache<int> hasty{elsewhere, storage, database, "prices", {.wait = 0ms}};
    prices.put("tea", 3);
    EXPECT_EQ(hasty.get("tea"), 3);
    prices.update("tea", [&](std::optional<int>) {
        EXPECT_FALSE(storage.read("tea")->settled);
        std::jthread{[&] { EXPECT_THROW(static_cast<void>(hasty.get("tea")), error) << "nobody may say 3"; }}.join();
        return std::optional{4};
    });
    EXPECT_EQ(hasty.get("tea"), 4);
    EXPECT_EQ(prices.get("tea"), 4);
}

// The rival: delete the entry, write the row, wait, delete the entry again. A reader that is paused for longer than that wait
// stores what it read before.
TEST_F(consistent, is_what_a_delayed_double_delete_is_not) {
    const token any{1};
    const auto put = [&](memory_storage& at, std::string_view bytes) {
        ASSERT_TRUE(at.seal("tea", any));
        ASSERT_TRUE(at.write("tea", any, bytes, 1h));
    };
    put(database, "3");
    const std::string read_before = database.read("tea")->bytes;  // the reader; it is paused here
    storage.forget("tea");
    put(database, "4");
    std::this_thread::sleep_for(1ms);
    storage.forget("tea");      // acknowledged
    put(storage, read_before);  // it goes on
    EXPECT_EQ(storage.read("tea")->bytes, "3");
    EXPECT_EQ(database.read("tea")->bytes, "4");
}

TEST_F(consistent, answers_from_memory_while_it_has_the_read_lock) {
    consistent_cache<int> near{locks, storage, database, "prices", {.local_for = 300ms}};
    client elsewhere{"memory:"};
    consistent_cache<int> far{elsewhere, storage, database, "prices"};
    far.put("tea", 3);
    EXPECT_EQ(near.get("tea"), 3);
    storage.forget("tea");
    database.forget("tea");
    EXPECT_EQ(near.get("tea"), 3);  // nobody was asked
    far.put("tea", 4);              // waits until the read lock is over
    EXPECT_EQ(near.get("tea"), 4);
    near.put("tea", 5);  // does not wait for itself
    EXPECT_EQ(near.get("tea"), 5);
}

struct stock : in_process {
    memory_storage other_storage;
    client other{"memory:"};
    std::vector<sharded_stock::segment> segments{
        {locks, storage}, {other, other_storage}, {locks, storage}, {other, other_storage}};
};

TEST_F(stock, sells_what_it_has_and_no_more) {
    sharded_stock tickets{segments, "tickets"};
    for (int i = 0; i < 20; ++i) tickets.add(std::to_string(i), 10);
    std::atomic<int> sold = 0;
    in_threads(8, [&](int i) {
        for (int n = 0; tickets.take(std::to_string(100 * i + n)); ++n) ++sold;
    });
    EXPECT_EQ(sold, 200);
    EXPECT_EQ(tickets.audit(), 0);
}

TEST_F(stock, gathers_what_is_scattered) {
    sharded_stock tickets{segments, "tickets", {.by = sharded_stock::choice::modulo}};
    for (const char* key : {"0", "1", "2", "3"}) tickets.add(key, 1);
    EXPECT_FALSE(tickets.take("2", 5));
    EXPECT_EQ(tickets.audit(), 4);
    EXPECT_TRUE(tickets.take("2", 4));
    EXPECT_FALSE(tickets.take("2"));
    tickets.add("1", 2);
    EXPECT_TRUE(tickets.take("3", 2));
    EXPECT_EQ(tickets.audit(), 0);
}

TEST_F(stock, sells_orders_of_all_sizes_to_the_last_item) {
    sharded_stock tickets{segments, "tickets"};
    for (int i = 0; i < 8; ++i) tickets.add(std::to_string(i), 25);
    std::atomic<int> sold = 0;
    in_threads(6, [&](int i) {
        for (int size = 7; size > 0;) {
            if (tickets.take(std::to_string(i), size))
                sold += size;
            else
                --size;
        }
    });
    EXPECT_EQ(sold, 200);
    EXPECT_EQ(tickets.audit(), 0);
}

TEST_F(stock, sells_nothing_if_what_is_done_inside_fails) {
    sharded_stock tickets{segments, "tickets"};
    tickets.add("a", 1);
    EXPECT_THROW(tickets.take("a", 1, [] { throw std::runtime_error("card refused"); }), std::runtime_error);
    EXPECT_EQ(tickets.audit(), 1);
}

// A storage that makes a write and says that it failed, or fails before it.
class bad_storage final : public fenced_storage {
public:
    std::optional<entry> read(std::string_view key) override { return good_.read(key); }
    bool seal(std::string_view key, token mine) override {
        if (down) throw std::runtime_error("connection refused");
        return good_.seal(key, mine);
    }
    bool write(std::string_view key, token mine, std::string_view bytes, std::chrono::nanoseconds keep) override {
        const bool first = fails > 0 && fails-- % 2 == 1;
        if (fails > 0 && !first) throw std::runtime_error("connection lost before");
        const bool done = good_.write(key, mine, bytes, keep);
        if (first) throw std::runtime_error("connection lost after");
        return done;
    }
    int fails = 0;
    bool down = false;

private:
    memory_storage good_;
};

TEST_F(stock, finds_out_what_became_of_a_write) {
    bad_storage bad;
    sharded_stock tickets{{{locks, bad}}, "tickets"};
    tickets.add("a", 10);
    for (int i = 0; i < 5; ++i) {
        bad.fails = 1;
        EXPECT_TRUE(tickets.take("a"));
        bad.fails = 2;
        EXPECT_TRUE(tickets.take("a"));
    }
    EXPECT_EQ(tickets.audit(), 0);
}

TEST_F(stock, sells_from_the_others_while_a_segment_is_down) {
    bad_storage bad;
    sharded_stock tickets{{{locks, bad}, {other, other_storage}}, "tickets", {.by = sharded_stock::choice::modulo}};
    tickets.add("0", 5);
    tickets.add("1", 5);
    bad.down = true;
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(tickets.take("0"));
    EXPECT_THROW(tickets.take("0"), std::runtime_error);  // not "sold out": it cannot know
    tickets.add("0", 1);
    bad.down = false;
    EXPECT_EQ(tickets.audit(), 6);
    EXPECT_TRUE(tickets.take("1", 6));
}

struct keeper : in_process {};

TEST_F(keeper, refreshes_when_the_credential_ends) {
    int asked = 0;
    token_keeper tokens{locks, storage, "provider", [&] { return credential{"t" + std::to_string(++asked), 100ms}; }};
    EXPECT_EQ(tokens.use([](const std::string& token) { return token; }), "t1");
    EXPECT_EQ(tokens.use([](const std::string& token) { return token; }), "t1");
    std::this_thread::sleep_for(100ms);
    EXPECT_EQ(tokens.use([](const std::string& token) { return token; }), "t2");
}

TEST_F(keeper, retries_once_with_a_new_one) {
    int asked = 0;
    token_keeper tokens{locks, storage, "provider", [&] { return credential{"t" + std::to_string(++asked), 1h}; }};
    EXPECT_EQ(tokens.use([](const std::string& token) {
        if (token == "t1") throw credential_rejected("401");
        return token;
    }),
              "t2");
    EXPECT_THROW(tokens.use([](const std::string&) -> int { throw credential_rejected("401"); }), credential_rejected);
    EXPECT_EQ(asked, 3);
}

TEST_F(keeper, never_replaces_what_is_in_use) {
    std::atomic<int> current = 0;
    std::atomic<int> void_uses = 0;
    const auto ask = [&] { return credential{std::to_string(++current), 3ms}; };
    client elsewhere{"memory:"};
    token_keeper one{locks, storage, "provider", ask};
    token_keeper other{elsewhere, storage, "provider", ask};
    in_threads(8, [&](int i) {
        for (int n = 0; n < 50 || current < 5; ++n)
            (i % 2 == 0 ? one : other).use([&](const std::string& token) {
                std::this_thread::yield();
                void_uses += std::to_string(current) != token;
            });
    });
    EXPECT_EQ(void_uses, 0);
    EXPECT_GT(current, 1);
}

TEST_F(keeper, takes_over_a_refresh_that_hangs) {
    std::atomic<int> asked = 0;
    std::latch hangs{1};
    std::latch on{1};
    const auto ask = [&] {
        const int mine = ++asked;
        if (mine == 1) {
            hangs.count_down();
            on.wait();
        }
        return credential{"t" + std::to_string(mine), 1h};
    };
    token_keeper tokens{locks, storage, "provider", ask, {.refresh_within = 100ms}};
    const auto used = [](const std::string& token) { return token; };
    std::jthread slow{[&] { EXPECT_EQ(tokens.use(used), "t2"); }};
    hangs.wait();
    EXPECT_EQ(tokens.use(used), "t2");
    on.count_down();
}

// The refresher died after it had asked: the old one may be void.
TEST_F(keeper, does_not_use_the_old_one_after_a_refresh_that_was_not_finished) {
    int asked = 0;
    token_keeper tokens{locks, storage, "provider", [&] { return credential{"t" + std::to_string(++asked), 1h}; }};
    EXPECT_EQ(tokens.use([](const std::string& token) { return token; }), "t1");
    ASSERT_TRUE(storage.seal("provider/credential", locks.acquire("provider", {}).token()));
    EXPECT_EQ(tokens.use([](const std::string& token) { return token; }), "t2");
}

}  // namespace
}  // namespace mortise::testing
