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
#include <mortise/patterns/token_keeper.hpp>

#include <functional>
#include <limits>

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
    expect_error(errc::lost, "front", [&] { values.put("front", "new"); });
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
