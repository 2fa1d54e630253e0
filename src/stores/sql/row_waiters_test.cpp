#include "stores/sql/row_waiters.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::sql {
namespace {

using namespace std::chrono_literals;

row_claim claim_at(std::uint64_t stands, const std::string& name = "n") {
    row_claim one{{}};
    one.name = name;
    one.entry.id = claim_id{{stands, 1}};
    one.stands = stands;
    return one;
}

TEST(row_waiters, ask_about_the_first_of_each_name_and_about_every_exchange) {
    row_waiters all;
    for (const std::uint64_t stands : {7, 5, 9}) all.add(claim_at(stands));
    all.add(claim_at(3, "m"));
    row_claim upgrade = claim_at(8);
    upgrade.entry.instead_of = claim_id{{1, 1}};
    all.add(upgrade);
    all.add(upgrade);
    EXPECT_EQ(all.firsts().size(), 3U);
    EXPECT_EQ(all.first("n"), (claim_id{{5, 1}}));
    all.remove(claim_at(5));
    EXPECT_EQ(all.first("n"), (claim_id{{7, 1}}));
    for (const std::uint64_t stands : {7, 9}) all.remove(claim_at(stands));
    EXPECT_EQ(all.first("n"), std::nullopt);
    EXPECT_EQ(all.firsts().size(), 2U);
    all.remove(upgrade);
    all.remove(claim_at(3, "m"));
    EXPECT_TRUE(all.empty());
}

TEST(row_waiters, know_of_those_behind_one_that_waits_that_they_do_too) {
    row_waiters all;
    const spi::time_point early{1s};
    const spi::time_point late{2s};
    row_claim first = claim_at(5);
    row_claim second = claim_at(7);
    first.ungranted = second.ungranted = early;
    all.add(first);
    all.add(second);
    EXPECT_EQ(all.ungranted_at(second), early);
    all.found_waiting(first, late);
    EXPECT_EQ(all.ungranted_at(first), late);
    EXPECT_EQ(all.ungranted_at(second), late);
    row_claim before = claim_at(4);
    before.ungranted = early;
    all.add(before);
    EXPECT_EQ(all.ungranted_at(before), early) << "nothing is known of one that is before it";
}

TEST(row_waiters, tell_who_is_far_back) {
    row_waiters all;
    for (std::uint64_t stands = 1; stands <= 100; ++stands) all.add(claim_at(stands));
    EXPECT_FALSE(all.far_back(claim_at(1)));
    EXPECT_FALSE(all.far_back(claim_at(8)));
    EXPECT_TRUE(all.far_back(claim_at(9)));
    EXPECT_FALSE(all.far_back(claim_at(50, "m")));
}

}  // namespace
}  // namespace mortise::inline v0::stores::sql
