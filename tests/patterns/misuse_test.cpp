// Callers, providers and storages that behave badly.
#include "base/limits.hpp"
#include "patterns/fleet.hpp"
#include "patterns/limits.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/patterns/consistent_cache.hpp>
#include <mortise/patterns/once_per_period.hpp>
#include <mortise/patterns/sharded_stock.hpp>
#include <mortise/patterns/single_flight.hpp>
#include <mortise/patterns/striped_mutex.hpp>
#include <mortise/patterns/token_keeper.hpp>

#include <functional>
#include <latch>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

static_assert(patterns::longest_name == base::longest_name);
static_assert(patterns::shortest_lease == base::shortest_lease && patterns::longest_lease == base::longest_lease);

class misused : public ::testing::Test {
protected:
    client locks{"memory:"};
    memory_storage storage;
    memory_storage database;

    static void expect_error(errc code, const std::string& text, const std::function<void()>& call) {
        try {
            call();
            ADD_FAILURE() << "no error: " << text;
        } catch (const error& e) {
            EXPECT_EQ(e.code(), code) << e.what();
            EXPECT_THAT(e.what(), HasSubstr(text));
        }
    }
    static std::optional<std::string> page() { return "page"; }
};

TEST_F(misused, options_are_refused_when_a_pattern_is_made) {
    const auto flight = [&](flight_options how) { return [&, how] { single_flight{locks, storage, "x", how}; }; };
    expect_error(errc::invalid_option, "rebuild_within of 0 ms", flight({.rebuild_within = 0s}));
    expect_error(errc::invalid_option, "use 100 ms to 24 h", flight({.rebuild_within = 25h}));
    expect_error(errc::invalid_option, "early", flight({.early = std::numeric_limits<double>::quiet_NaN()}));
    expect_error(errc::invalid_option, "stale_for", flight({.stale_for = -1s}));
    expect_error(errc::invalid_option, "local_for of 1 ms",
                 [&] { write_through(locks, storage, database, "x", {.local_for = 1ms}); });
    const auto issue = [] { return credential{"t", 1h}; };
    expect_error(errc::invalid_option, "refresh_within of 1 ms",
                 [&] { token_keeper(locks, storage, "x", issue, {.refresh_within = 1ms}); });
    expect_error(errc::invalid_option, "ahead", [&] { token_keeper(locks, storage, "x", issue, {.ahead = -1s}); });
    expect_error(errc::invalid_option, "the period less the slack", [&] { once_per_period(locks, "x", 50ms); });
    expect_error(errc::invalid_option, "at_most of 0 ms", [&] { once_per_period(locks, "x", 1h, {.at_most = 0s}); });
    expect_error(errc::invalid_option, "keep must be positive",
                 [&] { write_through(locks, storage, database, "x", {.keep = 0s}); });
    expect_error(errc::invalid_option, "wait must not be negative", [&] {
        sharded_stock({{locks, storage}}, "x", {.wait = -1s});
    });
    expect_error(errc::invalid_option, "1 to 65536 stripes, not 0", [&] { striped_mutex(locks, "x", 0); });
    expect_error(errc::invalid_option, "stripes", [&] { striped_mutex(locks, "x", static_cast<std::size_t>(-1)); });
}

TEST_F(misused, leases_that_a_store_cannot_give_are_refused_when_a_pattern_is_made) {
    try {
        client short_leases{"zookeeper://127.0.0.1:1?session=4s"};
        expect_error(errc::invalid_option, "on zookeeper://127.0.0.1:1",
                     [&] { single_flight(short_leases, storage, "x", {.rebuild_within = 1h}); });
    } catch (const error& e) {
        if (e.code() != errc::unknown_store) throw;
        GTEST_SKIP() << e.what();
    }
}

TEST_F(misused, names_are_refused_when_a_pattern_is_made) {
    const auto issue = [] { return credential{"t", 1h}; };
    for (const std::string& bad : {std::string{}, std::string("a\nb"), std::string(195, 'n') + "\xff"}) {
        expect_error(errc::invalid_name, "single_flight", [&] { single_flight(locks, storage, bad); });
        expect_error(errc::invalid_name, "consistent_cache", [&] { write_through(locks, storage, database, bad); });
        expect_error(errc::invalid_name, "sharded_stock", [&] { sharded_stock({{locks, storage}}, bad); });
        expect_error(errc::invalid_name, "token_keeper", [&] { token_keeper(locks, storage, bad, issue); });
        expect_error(errc::invalid_name, "once_per_period", [&] { once_per_period(locks, bad, 1h); });
    }
}

TEST_F(misused, functions_that_are_null_are_refused) {
    single_flight pages{locks, storage, "x"};
    expect_error(errc::invalid_option, "needs a function", [&] { pages.get("front", nullptr); });
    write_through values{locks, storage, database, "x"};
    expect_error(errc::invalid_option, "needs a function", [&] { values.update("k", nullptr); });
    expect_error(errc::invalid_option, "needs a function", [&] { token_keeper(locks, storage, "x", nullptr); });
    once_per_period job{locks, "x", 1h};
    expect_error(errc::invalid_option, "needs a job", [&] { job.try_run(nullptr); });
    expect_error(errc::invalid_option, "needs a job", [&] { job.try_run(std::function<void()>{}); });
    std::optional<std::string> (*const no_function)() = nullptr;
    expect_error(errc::invalid_option, "needs a function", [&] { pages.get("front", no_function); });
}

// Through another object and another client, too.
TEST_F(misused, what_would_wait_for_itself_is_refused) {
    client elsewhere{"memory:"};
    const auto refused = [](const std::function<void()>& call) {
        expect_error(errc::would_deadlock, "would wait for itself", call);
    };
    consistent_cache<int> values{locks, storage, database, "values"};
    consistent_cache<int> kept{elsewhere, storage, database, "values", {.local_for = 1s}};
    values.update("k", [&](std::optional<int>) {
        refused([&] { values.get("k"); });
        refused([&] { kept.get("k"); });
        refused([&] { kept.put("k", 3); });
        EXPECT_EQ(values.get("another"), std::nullopt);
        return 4;
    });
    EXPECT_EQ(kept.get("k"), 4);

    single_flight pages{locks, storage, "pages"};
    single_flight same{elsewhere, storage, "pages"};
    pages.get("front", [&] {
        refused([&] { pages.get("front", page); });
        refused([&] { same.get("front", page); });
        refused([&] { pages.invalidate("front"); });
        return page();
    });
    pages.invalidate("front");

    token_keeper* inner = nullptr;
    token_keeper keeper{locks, storage, "keeper", [&] {
                            refused([&] { inner->use([](const std::string&) {}); });
                            return credential{"t", 1h};
                        }};
    inner = &keeper;
    keeper.use([&](const std::string&) { refused([&] { keeper.use([](const std::string&) {}); }); });
    keeper.use([](const std::string&) {});

    sharded_stock tickets{{{locks, storage}, {locks, database}}, "tickets"};
    tickets.add("a", 2);
    EXPECT_TRUE(tickets.take("a", 1, [&] {
        refused([&] { tickets.take("a"); });
        refused([&] { tickets.add("a", 1); });
        refused([&] { tickets.audit(); });
    }));
    EXPECT_EQ(tickets.audit(), 1);
}

// From a thread that the function waits for nobody can tell; then only a limit helps.
TEST_F(misused, waits_can_be_limited) {
    consistent_cache<int> values{locks, storage, database, "values", {.wait = 20ms}};
    values.update("k", [&](std::optional<int>) {
        std::jthread{[&] { expect_error(errc::timed_out, "values/k", [&] { values.get("k"); }); }}.join();
        std::jthread{[&] { expect_error(errc::timed_out, "values/k", [&] { values.put("k", 1); }); }}.join();
        return 4;
    });
    token_keeper keeper{locks, storage, "keeper", [] { return credential{"t", 100ms}; }, {.wait = 20ms}};
    keeper.use([&](const std::string&) {
        std::this_thread::sleep_for(100ms);
        std::jthread{[&] {
            expect_error(errc::timed_out, "keeper", [&] { keeper.use([](const std::string&) {}); });
        }}.join();
    });
}

// Every caller is too late, because the next takes over: nobody would ever get a value.
TEST_F(misused, a_rebuild_or_refresh_that_always_takes_too_long_is_told) {
    single_flight pages{locks, storage, "x", {.rebuild_within = 100ms}};
    client elsewhere{"memory:"};
    const auto overtake = [&](std::string_view key) {  // as another does when the lease is over
        EXPECT_TRUE(storage.seal(key, elsewhere.acquire("later").token()));
    };
    const auto slow = [&] {
        std::this_thread::sleep_for(110ms);
        overtake("front");
        return page();
    };
    expect_error(errc::lost, "rebuilt 'front' 3 times, and each took longer than flight_options::rebuild_within",
                 [&] { pages.get("front", slow); });
    token_keeper keeper{locks,
                        storage,
                        "keeper",
                        [&] {
                            std::this_thread::sleep_for(110ms);
                            overtake("keeper/credential");
                            return credential{"t", 1h};
                        },
                        {.refresh_within = 100ms}};
    expect_error(errc::lost, "longer than keeper_options::refresh_within",
                 [&] { keeper.use([](const std::string&) {}); });
}

// A thread of the parent is inside, and will never come out of it in the child.
TEST_F(misused, a_child_of_fork_is_refused) {
    single_flight pages{locks, storage, "x"};
    consistent_cache<int> values{locks, storage, database, "x", {.local_for = 1s}};
    token_keeper keeper{locks, storage, "keeper", [] { return credential{"t", 1h}; }};
    sharded_stock tickets{{{locks, storage}}, "tickets"};
    once_per_period job{locks, "job", 1h};
    values.put("k", 1);
    pages.get("hit", page);
    std::latch leads{1};
    std::latch done{1};
    std::jthread leader{[&] {
        pages.get("front", [&] {
            leads.count_down();
            done.wait();
            return page();
        });
    }};
    leads.wait();
    child forked{[&] {
        const auto is_refused = [](const auto& call) {
            try {
                call();
            } catch (const error& e) {
                return e.code() == errc::forked;
            }
            return false;
        };
        const bool all = is_refused([&] { pages.get("front", page); }) && is_refused([&] { pages.get("hit", page); }) &&
                         is_refused([&] { pages.invalidate("front"); }) && is_refused([&] { values.get("k"); }) &&
                         is_refused([&] { values.put("k", 2); }) &&
                         is_refused([&] { keeper.use([](const std::string&) {}); }) &&
                         is_refused([&] { tickets.take("a"); }) && is_refused([&] { tickets.add("a", 1); }) &&
                         is_refused([&] { tickets.audit(); }) && is_refused([&] { job.try_run([] {}); });
        return all ? 0 : 1;
    }};
    EXPECT_EQ(forked.wait(), 0);
    done.count_down();
}

TEST_F(misused, lives_may_be_for_ever) {
    const auto ever = std::chrono::nanoseconds::max();
    single_flight pages{locks, storage, "x", {.fresh_for = ever, .nothing_for = ever, .stale_for = ever, .wait = ever}};
    EXPECT_EQ(pages.get("front", page), "page");
    EXPECT_EQ(pages.get("front", [] { return std::optional<std::string>{"another"}; }), "page");
}

// A lock store that was set up anew counts from the start, and the cache has the seals of the old one.
TEST_F(misused, a_seal_that_is_ahead_is_an_error_and_no_endless_loop) {
    constexpr token far{std::numeric_limits<std::uint64_t>::max()};
    for (const char* key : {"front", "x/credential"}) ASSERT_TRUE(storage.seal(key, far));
    single_flight pages{locks, storage, "x"};
    expect_error(errc::lost, "larger token than the lock store gives", [&] { pages.get("front", page); });
    consistent_cache<std::string> values{locks, storage, database, "x"};
    expect_error(errc::lost, "larger token than the lock store gives", [&] { values.get("front"); });
    expect_error(errc::lost, "larger token than the lock store gives", [&] { values.put("front", "new"); });
    expect_error(errc::lost, "larger token than the lock store gives", [&] { pages.invalidate("front"); });
    ASSERT_TRUE(storage.seal("x/0", far));
    sharded_stock tickets{{{locks, storage}}, "x"};
    expect_error(errc::lost, "larger token than the lock store gives", [&] { tickets.take("a"); });
    token_keeper keeper{locks, storage, "x", [] { return credential{"t", 1h}; }};
    expect_error(errc::lost, "larger token", [&] { keeper.use([](const std::string&) {}); });
}

TEST_F(misused, a_provider_that_issues_what_cannot_be_used_is_asked_once) {
    int asked = 0;
    const auto use = [](token_keeper& keeper) { keeper.use([](const std::string&) {}); };
    for (const auto life : {0ms, -1ms, 50ms}) {
        token_keeper keeper{locks, storage, "short", [&] { return ++asked, credential{"t", life}; }, {.ahead = 50ms}};
        expect_error(errc::invalid_option, "replaced at once", [&] { use(keeper); });
    }
    EXPECT_EQ(asked, 3);
    token_keeper same{locks, storage, "same", [&] { return ++asked, credential{"t", 1h}; }};
    const auto refused = [](const std::string&) { throw credential_rejected("no"); };
    EXPECT_THROW(same.use(refused), credential_rejected);
    EXPECT_EQ(asked, 5);
    EXPECT_NO_THROW(use(same));
}

// Keeps nothing.
class leaky_storage final : public fenced_storage {
public:
    std::optional<entry> read(std::string_view) override { return std::nullopt; }
    bool seal(std::string_view, token) override { return true; }
    bool write(std::string_view, token, std::string_view, std::chrono::nanoseconds) override { return true; }
};

TEST_F(misused, a_storage_that_keeps_nothing_is_found_out) {
    leaky_storage leaky;
    int asked = 0;
    token_keeper keeper{locks, leaky, "x", [&] { return ++asked, credential{"t", 1h}; }};
    expect_error(errc::lost, "the storage has lost", [&] { keeper.use([](const std::string&) {}); });
    EXPECT_EQ(asked, 3);
    single_flight pages{locks, leaky, "x"};
    EXPECT_EQ(pages.get("front", page), "page");  // a cache may
}

TEST_F(misused, stock_that_nobody_can_count_is_refused) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    sharded_stock tickets{{{locks, storage}, {locks, database}}, "x"};
    expect_error(errc::invalid_option, "count so many", [&] { tickets.add("a", most); });
    tickets.add("a", most / 2);
    expect_error(errc::invalid_option, "count so many", [&] { tickets.add("a", most / 2); });
    EXPECT_EQ(tickets.audit(), most / 2);
    EXPECT_FALSE(tickets.take("a", most));
    EXPECT_TRUE(tickets.take("a", most / 2));
}

TEST_F(misused, a_delivery_is_spread_and_a_refund_is_not) {
    sharded_stock tickets{{{locks, storage}, {locks, storage}, {locks, storage}, {locks, storage}}, "x"};
    const auto amounts = [&] {
        std::vector<std::int64_t> all;
        for (int i = 0; i < 4; ++i) {
            const auto found = storage.read("x/" + std::to_string(i));
            all.push_back(found ? std::stoll(found->bytes.substr(7)) : 0);
        }
        return all;
    };
    tickets.add("opening", 403);
    EXPECT_THAT(amounts(), ::testing::UnorderedElementsAre(100, 100, 100, 103));
    tickets.add("refund", 3);
    EXPECT_EQ(tickets.audit(), 406);
    EXPECT_THAT(amounts(), ::testing::Contains(::testing::AnyOf(103, 106)));
}

TEST_F(misused, keys_and_values_may_be_anything) {
    const std::string nul{"a\0b", 3};
    const std::string large(300'000, '\xff');
    const std::string long_name(180, 'n');
    single_flight pages{locks, storage, long_name};
    consistent_cache<std::string> values{locks, storage, database, "values"};
    for (const std::string& key :
         {std::string{}, nul, large, std::string(60, 'k'), std::string("#x"), std::string("/")}) {
        EXPECT_EQ(pages.get(key, [&] { return std::optional{key}; }), key);
        values.put("v" + key, key);
        EXPECT_EQ(values.get("v" + key), key);
    }
    cached<bool> flags{locks, storage, "flags"};
    EXPECT_EQ(flags.get("on", [] { return std::optional{true}; }), true);
}

TEST_F(misused, what_a_function_throws_leaves_nothing_locked) {
    struct oddity {};
    cached<int> numbers{locks, storage, "numbers"};
    EXPECT_THROW(numbers.get("k", []() -> std::optional<int> { throw oddity{}; }), oddity);
    EXPECT_EQ(numbers.get("k", [] { return std::optional{1}; }), 1);
    consistent_cache<int> values{locks, storage, database, "values"};
    EXPECT_THROW(values.update("v", [](std::optional<int>) -> std::optional<int> { throw oddity{}; }), oddity);
    values.put("v", 2);
    EXPECT_EQ(values.get("v"), 2);
    token_keeper keeper{locks, storage, "keeper", [first = true]() mutable {
                            if (std::exchange(first, false)) throw oddity{};
                            return credential{"t", 1h};
                        }};
    EXPECT_THROW(keeper.use([](const std::string&) {}), oddity);
    EXPECT_THROW(keeper.use([](const std::string&) { throw oddity{}; }), oddity);
    EXPECT_EQ(keeper.use([](const std::string& token) { return token; }), "t");
    once_per_period job{locks, "job", 1h};
    EXPECT_THROW(job.try_run([] { throw oddity{}; }), oddity);
    EXPECT_FALSE(job.try_run([] {}));  // at most once
}

}  // namespace
}  // namespace mortise::testing
