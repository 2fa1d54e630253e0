// The histories of every kind, for whatever keeps the state of names; and which flaws the users of a kind can notice.
#pragma once

#include "base/lock_histories.hpp"
#include "base/several_names.hpp"
#include "support/seeds.hpp"
#include "support/waiting.hpp"

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing::histories {

// One history. `make(i)` keeps the state of the i-th of up to three names, until it is destroyed.
template <class Make>
std::optional<std::string> disagreement(kind of, std::uint64_t seed, const Make& make, std::size_t remembers,
                                        tally& counted, flaw wrong = flaw::none) {
    auto a = make(0);
    if (of != kind::multi_lock) return history(of, seed, a, wrong, remembers, counted).run();
    auto b = make(1);
    auto c = make(2);
    return history_of_several<decltype(a)>(seed, {&a, &b, &c}, wrong, remembers, counted).run();
}

// All of them. MORTISE_TEST_SEED=<seed> runs one alone.
template <class Make>
void expect_agreement(kind of, std::string_view store, std::uint64_t histories, const Make& make,
                      std::size_t remembers) {
    tally counted;
    const auto found = first_complaint(
        histories, [&](std::uint64_t seed) { return disagreement(of, seed, make, remembers, counted); });
    ASSERT_FALSE(found) << *found;
    std::cout << "histories: kind=" << name_of(of) << " store=" << store << " " << counted << " disagreements=0\n";
    if (lone_seed() || histories < 1000) return;
    for (const std::uint64_t some : {counted.grants, counted.waits, counted.cancels, counted.expiries, counted.renewals,
                                     counted.deaths, counted.breaks})
        EXPECT_GT(some, histories / 20);
    if (of != kind::shared_mutex) return;
    EXPECT_GT(counted.exchanges, histories);
    EXPECT_GT(counted.deadlocks, histories / 20);
}

// The comparison bites: a model that is wrong in one way is found out, and soon.
template <class Make>
void expect_conviction(kind of, flaw wrong, const Make& make, std::size_t remembers) {
    constexpr std::uint64_t soon = 1000;
    tally counted;
    std::uint64_t seed = 1;
    while (seed <= soon && !disagreement(of, seed, make, remembers, counted, wrong)) ++seed;
    EXPECT_LE(seed, soon) << "no history in " << soon << " told the flawed model from the real one";
    ::testing::Test::RecordProperty("histories", static_cast<int>(seed));
}

struct conviction {
    kind of;
    flaw_traits wrong;

    std::string name() const { return std::string(name_of(of)) + "_" + std::string(wrong.name); }
    friend void PrintTo(const conviction& c, std::ostream* out) { *out << c.name(); }
};

// Where holders exclude each other nobody is smaller, and where nothing is exchanged nobody sees how. A history is too short
// to fill a large memory of ended ids.
inline std::vector<conviction> every_conviction(std::size_t remembers) {
    std::vector<conviction> each;
    for (const kind of : every_kind)
        for (const flaw_traits& wrong : every_flaw) {
            const bool excludes = of == kind::mutex || of == kind::multi_lock;
            const bool exchanges = of == kind::shared_mutex || of == kind::any;
            if (wrong.to_notice == needs::sharing && excludes) continue;
            if (wrong.to_notice == needs::exchanges && !exchanges) continue;
            if (wrong.to_notice == needs::odd_requests && of == kind::multi_lock) continue;
            if (wrong.to_notice == needs::a_small_memory && (remembers > 100 || of == kind::multi_lock)) continue;
            each.push_back({of, wrong});
        }
    return each;
}

}  // namespace mortise::testing::histories
