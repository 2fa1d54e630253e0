// The memory of ended claims beside a naive one: a list that is searched from its end.
#include "base/ended_claims.hpp"

#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::base {
namespace {

using namespace std::chrono_literals;

constexpr claim_id ended_id(std::uint64_t n) {
    return claim_id{{n, ~n}};
}

enum class flaw { none, forgets_too_soon, forgets_too_late, keeps_one_more, keeps_one_less, takes_the_first };

// `most` of them, each for ended_claim::remembered_for.
class naive_ended_claims {
public:
    naive_ended_claims(std::size_t most, flaw wrong) : most_(most), wrong_(wrong) {
        if (wrong == flaw::keeps_one_more) ++most_;
        if (wrong == flaw::keeps_one_less) --most_;
    }

    void add(const ended_claim& ended) {
        all_.push_back(ended);
        if (all_.size() > most_) all_.erase(all_.begin());
    }
    std::optional<std::int64_t> answer(const claim_id& wanted, spi::time_point now) const {
        const spi::duration off = wrong_ == flaw::forgets_too_soon   ? -1ns
                                  : wrong_ == flaw::forgets_too_late ? 1ns
                                                                     : spi::duration{};
        std::optional<std::int64_t> found;
        for (const ended_claim& one : all_) {
            if (one.id != wanted) continue;
            found = now < one.until + off ? std::optional{one.answer} : std::nullopt;
            if (found && wrong_ == flaw::takes_the_first) return found;
        }
        return found;
    }
    bool empty(spi::time_point now) const {
        for (const ended_claim& one : all_)
            if (now < one.until) return false;
        return true;
    }

private:
    std::size_t most_;
    flaw wrong_;
    std::vector<ended_claim> all_;
};

template <std::size_t Most>
std::optional<std::string> disagreement(std::uint64_t seed, flaw wrong = flaw::none) {
    std::mt19937_64 random{seed};
    const auto below = [&](std::uint64_t n) { return random() % n; };
    ended_claims<Most> real;
    naive_ended_claims naive{Most, wrong};
    spi::time_point now{1h};
    const std::uint64_t ids = 1 + below(2 * Most + 2);
    for (int step = 0; step < 200; ++step) {
        switch (below(4)) {
            case 0: {  // so that all comes to its end within a nanosecond of the time, now and then
                const spi::duration half = ended_claim::remembered_for / 2;
                const spi::duration steps[] = {0ns, 1ns, half - 1ns, half};
                now += steps[below(4)];
                break;
            }
            default: {
                const auto ended =
                    ended_claim::at(now, ended_id(below(ids)), static_cast<spi::release_answer>(below(3)));
                real.add(ended, now);
                naive.add(ended);
            }
        }
        for (std::uint64_t n = 0; n < ids; ++n) {
            const ended_claim* found = real.find(ended_id(n), now);
            if ((found ? std::optional{found->answer} : std::nullopt) != naive.answer(ended_id(n), now))
                return "seed " + std::to_string(seed) + ", step " + std::to_string(step) + ", id " + std::to_string(n);
        }
        if (real.empty(now) != naive.empty(now)) return "empty, seed " + std::to_string(seed);
    }
    return std::nullopt;
}

template <std::size_t Most>
void expect_agreement(std::uint64_t histories) {
    for (std::uint64_t seed = 1; seed <= histories; ++seed)
        if (const auto found = disagreement<Most>(seed)) FAIL() << Most << ": " << *found;
}

TEST(ended_claims, agree_with_a_list) {
    expect_agreement<1>(500);
    expect_agreement<2>(500);
    expect_agreement<5>(500);
    expect_agreement<32>(50);
    expect_agreement<33>(50);
    expect_agreement<50>(50);
}

template <std::size_t Most>
void expect_conviction(flaw wrong) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed)
        if (disagreement<Most>(seed, wrong)) return;
    FAIL() << "flaw " << static_cast<int>(wrong) << " of " << Most << " is not noticed";
}

TEST(ended_claims, a_wrong_list_is_convicted) {
    for (const flaw wrong : {flaw::forgets_too_soon, flaw::forgets_too_late, flaw::keeps_one_more, flaw::keeps_one_less,
                             flaw::takes_the_first}) {
        expect_conviction<5>(wrong);
        expect_conviction<33>(wrong);
    }
}

TEST(ended_claims, one_that_nobody_has_released_can_be_answered_later) {
    ended_claims<32> all;
    const spi::time_point now{1h};
    all.add(ended_claim::at(now, ended_id(1), std::nullopt), now);
    ASSERT_NE(all.find(ended_id(1), now), nullptr);
    EXPECT_EQ(all.find(ended_id(1), now)->answer, ended_claim::not_asked);
    all.find(ended_id(1), now)->answer = static_cast<std::int64_t>(spi::release_answer::expired);
    EXPECT_EQ(all.find(ended_id(1), now)->answer, static_cast<std::int64_t>(spi::release_answer::expired));
}

}  // namespace
}  // namespace mortise::base
