// Values, keys, storages and disks that a careless or unlucky caller brings.
#include "patterns/fleet.hpp"
#include "support/sanitizers.hpp"
#include "support/small_disk.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/patterns/consistent_cache.hpp>
#include <mortise/patterns/once_per_period.hpp>
#include <mortise/patterns/sharded_stock.hpp>
#include <mortise/patterns/single_flight.hpp>
#include <mortise/patterns/token_keeper.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <latch>
#include <limits>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct oddity {};  // no std::exception

// What is large is a matter of time; a sanitizer takes ten times as long.
constexpr std::size_t in_megabytes(std::size_t count) {
    return (count << 20) / (under_asan || under_tsan ? 64 : 1);
}

// A storage with a mood: before or after each function of a good one.
class moody_storage final : public fenced_storage {
public:
    std::optional<entry> read(std::string_view key) override {
        before();
        auto found = good.read(key);
        if (found && age) found->age = *age;
        return found;
    }
    bool seal(std::string_view key, token mine) override {
        before();
        return good.seal(key, mine);
    }
    bool write(std::string_view key, token mine, std::string_view bytes, std::chrono::nanoseconds keep) override {
        before();
        return good.write(key, mine, bytes, keep);
    }

    memory_storage good;
    std::function<void()> mood;
    std::optional<std::chrono::nanoseconds> age;

private:
    void before() {
        if (mood) mood();
    }
};

class hostile : public ::testing::Test {
protected:
    client locks{"memory:"};
    moody_storage storage;
    memory_storage database;

    static std::optional<std::string> page() { return "page"; }
    static std::string message_of(errc code, const std::function<void()>& call) {
        try {
            call();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), code) << e.what();
            return e.what();
        }
        ADD_FAILURE() << "no error";
        return {};
    }
};

struct only_moved {
    std::unique_ptr<std::string> text;
};
struct text_of_moved {
    static std::string write(const only_moved& value) { return *value.text; }
    static only_moved read(std::string_view bytes) { return {std::make_unique<std::string>(bytes)}; }
};

TEST_F(hostile, values_may_be_huge_and_may_only_be_moved) {
    static constexpr std::size_t huge = in_megabytes(64);
    cached<only_moved, text_of_moved> pages{locks, storage, "pages"};
    const auto make = [] { return std::optional{only_moved{std::make_unique<std::string>(huge, 'x')}}; };
    EXPECT_EQ(pages.get("front", make)->text->size(), huge);
    EXPECT_EQ(pages.get("front", make)->text->size(), huge);
    consistent_cache<only_moved, text_of_moved> values{locks, storage, database, "values"};
    values.put("k", *make());
    values.update("k", [](std::optional<only_moved> before) {
        *before->text += "y";
        return before;
    });
    EXPECT_EQ(values.get("k")->text->size(), huge + 1);
}

struct text_that_throws {
    static inline bool writes = true;
    static inline bool reads = true;
    static std::string write(int value) { return writes ? std::to_string(value) : throw oddity{}; }
    static int read(std::string_view bytes) { return reads ? text<int>::read(bytes) : throw oddity{}; }
};

TEST_F(hostile, a_codec_that_throws_leaves_nothing_locked) {
    using codec = text_that_throws;
    cached<int, codec> numbers{locks, storage, "numbers", {.wait = 0s}};
    consistent_cache<int, codec> values{locks, storage, database, "values", {.wait = 0s}};
    const auto seven = [] { return std::optional{7}; };
    codec::writes = false;
    EXPECT_THROW(numbers.get("n", seven), oddity);
    EXPECT_THROW(values.put("v", 7), oddity);
    codec::writes = true;
    codec::reads = false;
    EXPECT_THROW(numbers.get("n", seven), oddity);
    values.put("v", 7);
    EXPECT_THROW(values.get("v"), oddity);
    EXPECT_THROW(values.update("v", [](std::optional<int> before) { return before; }), oddity);
    codec::reads = true;
    EXPECT_EQ(numbers.get("n", seven), 7);
    EXPECT_EQ(values.get("v"), 7);
}

// Of 10 MB, or with bytes that a terminal would obey.
TEST_F(hostile, keys_are_cut_in_messages) {
    for (const std::string& key : {std::string(in_megabytes(10), 'k'), std::string("a\0\033[2J", 6), std::string{}}) {
        single_flight pages{locks, storage, "pages", {.wait = 0s}};
        EXPECT_EQ(pages.get(key, page), "page");
        pages.invalidate(key);
        std::string told;
        pages.get(key, [&] {
            std::jthread{[&] { told = message_of(errc::timed_out, [&] { pages.get(key, page); }); }}.join();
            return page();
        });
        EXPECT_LT(told.size(), 300U);
        EXPECT_TRUE(std::ranges::all_of(told, [](char each) { return each >= ' '; })) << told;
        consistent_cache<std::string> values{locks, storage, database, "values"};
        values.put("v" + key, key);
        EXPECT_EQ(values.get("v" + key), key);
    }
    EXPECT_LT(message_of(errc::invalid_option, [] { text<int>::read(std::string(1 << 20, 'x')); }).size(), 200U);
}

// Each function of the storage, at each of its calls.
TEST_F(hostile, a_storage_that_throws_leaves_nothing_locked) {
    int until = 0;
    storage.mood = [&] {
        if (until-- == 0) throw oddity{};
    };
    single_flight pages{locks, storage, "pages", {.wait = 0s}};
    consistent_cache<int> values{locks, storage, database, "values", {.wait = 0s}};
    token_keeper keeper{locks, storage, "keeper", [] { return credential{"t", 1h}; }, {.wait = 0s}};
    sharded_stock tickets{{{locks, storage}}, "tickets", {.wait = 0s}};
    const std::vector<std::function<void(const std::string&)>> calls{
        [&](const std::string& key) { pages.get(key, page); },
        [&](const std::string& key) { pages.invalidate(key); },
        [&](const std::string& key) { values.put(key, 1); },
        [&](const std::string& key) { values.get(key); },
        [&](const std::string&) { keeper.use([](const std::string&) {}); },
        [&](const std::string& key) { tickets.add(key, 2); },
        [&](const std::string& key) { tickets.take(key); },
        [&](const std::string&) { tickets.audit(); },
    };
    for (std::size_t which = 0; which < calls.size(); ++which) {
        bool thrown = true;
        for (int at = 0; thrown; ++at) {
            const std::string key = std::to_string(which) + "." + std::to_string(at);
            storage.good.forget("keeper/credential");
            until = at;
            thrown = false;
            try {
                calls[which](key);
            } catch (const oddity&) {
                thrown = true;
            }
            until = std::numeric_limits<int>::max();
            EXPECT_NO_THROW(calls[which](key)) << "call " << which << ", its function " << at;
        }
    }
}

TEST_F(hostile, a_storage_may_tell_any_age) {
    using std::chrono::nanoseconds;
    single_flight pages{locks, storage, "pages", {.early = 1}};
    token_keeper keeper{locks, storage, "keeper", [] { return credential{"t", 1h}; }};
    for (const auto age : {nanoseconds::min(), nanoseconds{-1}, nanoseconds::zero()}) {
        storage.age = age;
        EXPECT_EQ(pages.get("front", page), "page");
        EXPECT_EQ(keeper.use([](const std::string& token) { return token; }), "t");
    }
    storage.age = nanoseconds::max();
    EXPECT_EQ(pages.get("front", page), "page");
    EXPECT_THAT(message_of(errc::lost, [&] { keeper.use([](const std::string&) {}); }),
                HasSubstr("the storage has lost"));
}

TEST_F(hostile, a_provider_may_tell_any_validity) {
    using std::chrono::nanoseconds;
    for (const auto ahead : {nanoseconds{1h}, nanoseconds::max()}) {
        token_keeper never{locks,
                           storage,
                           "never",
                           [] {
                               return credential{"t", nanoseconds::min()};
                           },
                           {.ahead = ahead}};
        for (int i = 0; i < 2; ++i)
            EXPECT_THAT(message_of(errc::invalid_option, [&] { never.use([](const std::string&) {}); }),
                        HasSubstr("replaced at once"));
    }
    token_keeper ever{locks, storage, "ever", [] { return credential{"t", nanoseconds::max()}; }};
    EXPECT_EQ(ever.use([](const std::string& token) { return token; }), "t");
}

// The cache takes the value when the lease is long over, and another has stored its own.
TEST_F(hostile, a_storage_that_hangs_is_overtaken) {
    single_flight slow{locks, storage, "pages", {.rebuild_within = 100ms}};
    client elsewhere{"memory:"};
    single_flight quick{elsewhere, storage.good, "pages", {.rebuild_within = 100ms}};
    int calls = 0;
    storage.mood = [&] {
        if (++calls != 4) return;  // read, read under the lock, seal, write
        std::jthread{[&] {
            EXPECT_EQ(quick.get("front", [] { return std::optional<std::string>{"new"}; }), "new");
        }}.join();
    };
    EXPECT_EQ(slow.get("front", [] { return std::optional<std::string>{"old"}; }), "new");
    EXPECT_GE(calls, 4);
}

TEST_F(hostile, a_negative_wait_is_refused_when_a_pattern_is_made) {
    const auto refused = [&](const std::function<void()>& make) {
        EXPECT_THAT(message_of(errc::invalid_option, make), HasSubstr("wait must not be negative"));
    };
    refused([&] { single_flight(locks, storage, "x", {.wait = -1s}); });
    refused([&] { write_through(locks, storage, database, "x", {.wait = -1s}); });
    refused([&] { token_keeper(locks, storage, "x", [] { return credential{"t", 1h}; }, {.wait = -1s}); });
}

class hostile_stock : public hostile {
protected:
    std::vector<sharded_stock::segment> so_many(std::size_t count) {
        return std::vector<sharded_stock::segment>(count, {locks, storage});
    }
};

TEST_F(hostile_stock, needs_a_segment_and_an_amount) {
    message_of(errc::invalid_option, [&] { sharded_stock({}, "x"); });
    sharded_stock one{so_many(1), "one"};
    for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
        message_of(errc::invalid_option, [&] { one.add("a", bad); });
        message_of(errc::invalid_option, [&] { one.take("a", bad); });
    }
    one.add("a", 40);
    EXPECT_TRUE(one.take("b", 40));
    EXPECT_FALSE(one.take("b"));
    EXPECT_EQ(one.audit(), 0);
}

// Who lists more segments must not hide stock in those that the others do not look into.
TEST_F(hostile_stock, is_refused_to_whom_lists_other_segments) {
    sharded_stock three{so_many(3), "x"};
    three.add("opening", 300);
    for (const std::size_t count : {1, 2, 4, 8}) {
        sharded_stock other{so_many(count), "x"};
        for (int i = 0; i < 20; ++i)
            EXPECT_THAT(message_of(errc::invalid_option, [&] { other.add(std::to_string(i), 10); }),
                        HasSubstr("must list the same segments"));
        EXPECT_THAT(message_of(errc::invalid_option, [&] { other.audit(); }), HasSubstr("must list the same segments"));
        message_of(errc::invalid_option, [&] { other.take("a"); });
    }
    EXPECT_EQ(three.audit(), 300);
}

TEST_F(hostile_stock, has_what_was_added_even_if_it_cannot_be_spread) {
    moody_storage bad;
    bad.mood = [] { throw oddity{}; };
    sharded_stock tickets{{{locks, storage}, {locks, bad}}, "x", {.by = sharded_stock::choice::modulo}};
    EXPECT_NO_THROW(tickets.add("0", 100));
    bad.mood = nullptr;
    EXPECT_EQ(tickets.audit(), 100);
}

TEST_F(hostile_stock, is_not_made_of_what_others_left) {
    sharded_stock tickets{so_many(1), "x"};
    for (const std::string& garbage :
         {std::string("stock1 -5 0 0 0 0 0"), std::string("stock1 5 1 1 -9 0 0"), std::string(1 << 20, 'x'),
          std::string("stock1 99999999999999999999 0 0 0 0 0")}) {
        hold mine = locks.acquire("x/0");
        ASSERT_TRUE(storage.seal("x/0", mine.token()) && storage.write("x/0", mine.token(), garbage, 1h));
        mine.release();
        for (const auto& call : {std::function<void()>{[&] { tickets.take("a"); }}, {[&] { tickets.add("a", 1); }}}) {
            const std::string told = message_of(errc::invalid_option, call);
            EXPECT_THAT(told, HasSubstr("no segment of a stock"));
            EXPECT_LT(told.size(), 300U);
        }
    }
}

// The ledger of host: cannot grow. What needs more of it is told so; nothing hangs, and it goes on when there is room again.
int use_a_full_disk(const small_disk& disk, const std::string& directory) {
    const auto told = [](const std::function<void()>& call) {
        try {
            call();
            return false;
        } catch (const error& e) {
            return std::string(e.what()).find("free some space") != std::string::npos;
        }
    };
    disk.fill();
    if (!told([&] { client{"host:" + directory}.acquire("first").release(); })) return 1;
    disk.free();
    client locks{"host:" + directory};
    memory_storage storage;
    memory_storage database;
    single_flight pages{locks, storage, "pages"};
    consistent_cache<int> values{locks, storage, database, "values"};
    sharded_stock tickets{{{locks, storage}, {locks, database}}, "tickets"};
    once_per_period job{locks, "job", 1h};
    tickets.add("opening", 100);
    disk.fill();
    std::vector<hold> many;  // until the ledger is full
    const auto one_more = [&] {
        many.push_back(locks.acquire("name " + std::to_string(many.size()) + std::string(150, '.')));
    };
    while (many.size() < 100'000)
        if (told(one_more)) break;
    if (many.size() == 100'000) return 2;
    int jobs = 0;
    const std::vector<std::function<void()>> calls{
        [&] { pages.get("front", [] { return std::optional<std::string>{"page"}; }); },
        [&] { values.put("k", 1); },
        [&] { job.try_run([&] { ++jobs; }); },
    };
    for (const auto& each : calls)
        if (!told(each)) return 3;
    if (jobs != 0) return 4;
    disk.free();
    for (const auto& each : calls) each();
    return jobs == 1 && values.get("k") == 1 && tickets.take("a", 100) && !tickets.take("a") ? 0 : 5;
}

TEST(full_disk, is_told_by_every_pattern) {
    const scratch_directory home;
    child alone{[&] {
        small_disk disk;
        if (!disk.permitted()) return 77;
        disk.mount_at(home.path(), 4);
        return use_a_full_disk(disk, home / "locks");
    }};
    const int code = alone.wait(60s);
    if (code == 77) GTEST_SKIP() << "only root may mount a small disk";
    EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace mortise::testing
