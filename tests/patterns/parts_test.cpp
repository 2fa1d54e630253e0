// The pure parts.
#include "patterns/freshness.hpp"
#include "patterns/hash.hpp"
#include "patterns/lock_name.hpp"
#include "patterns/stock_segment.hpp"

#include <mortise/error.hpp>

#include <limits>

#include <gtest/gtest.h>

namespace mortise::patterns {
namespace {

using namespace std::chrono_literals;

TEST(lock_name_of_a_key, is_the_key_if_that_can_be_read) {
    EXPECT_EQ(lock_name("pages", "front/index.html"), "pages/front/index.html");
}

TEST(lock_name_of_a_key, is_its_hash_otherwise) {
    const std::string odd = lock_name("pages", std::string("a\0b", 3));
    EXPECT_EQ(odd.substr(0, 7), "pages/#");
    EXPECT_EQ(lock_name("pages", std::string(5000, 'x')).size(), odd.size());
    EXPECT_NE(lock_name("pages", ""), lock_name("pages", " "));
    EXPECT_EQ(lock_name("pages", "#1")[6], '#');
    EXPECT_NE(lock_name("pages", "#1"), "pages/#1");
}

// Other machines have other builds: it must never change.
TEST(hash_of_a_key, is_the_same_everywhere) {
    EXPECT_EQ(hash_of(""), 0xcbf29ce484222325ULL ^ (0xcbf29ce484222325ULL >> 32));
    EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cULL ^ (0xaf63dc4c8601ec8cULL >> 32));
}

fenced_storage::entry aged(std::chrono::nanoseconds age, std::string bytes = "+x") {
    return {std::move(bytes), age, true};
}

TEST(freshness_of_a_value, follows_its_age) {
    const flight_options how{.fresh_for = 60s, .nothing_for = 5s, .stale_for = 30s};
    EXPECT_EQ(freshness_of(std::nullopt, how, 1), freshness::gone);
    EXPECT_EQ(freshness_of(aged(59s), how, 1), freshness::fresh);
    EXPECT_EQ(freshness_of(aged(60s), how, 0), freshness::stale);
    EXPECT_EQ(freshness_of(aged(89s), how, 0), freshness::stale);
    EXPECT_EQ(freshness_of(aged(90s), how, 0), freshness::gone);
    EXPECT_EQ(freshness_of(aged(4s, "-"), how, 1), freshness::fresh);
    EXPECT_EQ(freshness_of(aged(5s, "-"), how, 1), freshness::stale);
    EXPECT_EQ(freshness_of(aged(1s, ""), how, 1), freshness::gone);
}

TEST(freshness_of_a_value, may_be_early_the_likelier_the_older) {
    const flight_options how{.fresh_for = 100s, .early = 0.2};
    EXPECT_EQ(freshness_of(aged(79s), how, 1), freshness::fresh);
    EXPECT_EQ(freshness_of(aged(81s), how, 1), freshness::early);
    EXPECT_EQ(freshness_of(aged(81s), how, 0.9), freshness::fresh);
    EXPECT_EQ(freshness_of(aged(99s), how, 0.9), freshness::early);
    EXPECT_EQ(freshness_of(aged(99s), how, 0.01), freshness::fresh);
}

TEST(packed_values, come_back) {
    for (const std::optional<std::string>& one : {std::optional<std::string>{}, {""}, {"-"}, {std::string("\0+", 2)}})
        EXPECT_EQ(unpacked(packed(one)), one);
    for (const char* bad : {"", "x", "--"}) EXPECT_THROW(unpacked(bad), error) << bad;
}

TEST(stock_segment, comes_back_from_its_text) {
    stock_segment one{3};
    one.amount = 17;
    EXPECT_EQ(stock_segment::unpacked(one.packed(), 3), one);
    one.send(5, 2);
    one.received[1] = 9;
    EXPECT_EQ(stock_segment::unpacked(one.packed(), 3), one);
    for (const std::string& bad : {std::string{}, one.packed() + " 1", std::string("stock1 x"), std::string("5")})
        EXPECT_THROW(stock_segment::unpacked(bad, 3), error) << bad;
    EXPECT_THROW(stock_segment::unpacked(one.packed(), 2), error);
}

TEST(stock_segment, totals_are_numbers) {
    std::vector<stock_segment> all(2, stock_segment{2});
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    for (stock_segment& each : all) each.amount = most;
    EXPECT_EQ(total_of(all), most);
}

// Whoever dies between two steps leaves the total as it was, and steps that are done twice change nothing.
TEST(stock_segment, keeps_the_total_at_every_step_of_a_transfer) {
    std::vector<stock_segment> all(3, stock_segment{3});
    all[1].amount = 7;
    const stock_segment::transfer first = all[1].send(4, 2);
    EXPECT_EQ(total_of(all), 7);
    all[2].receive(1, first);
    EXPECT_EQ(total_of(all), 7);
    all[2].receive(1, first);
    EXPECT_EQ(total_of(all), 7);
    all[1].sent_well(first);
    all[1].sent_well(first);
    EXPECT_EQ(total_of(all), 7);
    EXPECT_EQ(all[2].amount, 4);
    const stock_segment::transfer second = all[1].send(3, 0);
    all[1].sent_well(first);  // late
    EXPECT_EQ(all[1].outgoing, second);
    all[0].receive(1, second);
    all[2].receive(1, first);  // later still
    EXPECT_EQ(total_of(all), 7);
}

}  // namespace
}  // namespace mortise::patterns
