// Random histories of every kind of lock (histories_of_kinds.hpp), of the state that a process keeps by itself: the rules of
// `memory:`.
//
// A failing history prints its seed and its steps; MORTISE_TEST_SEED=<seed> runs it alone.
#include "base/histories_of_kinds.hpp"
#include "base/lock_state.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace mortise::testing::histories {
namespace {

base::lock_state in_memory(int /*which*/) {
    return base::lock_state{};
}

class lock_state_property : public ::testing::TestWithParam<kind> {};

TEST_P(lock_state_property, agrees_with_the_naive_model_in_every_history) {
    const std::uint64_t histories = scale(GetParam() == kind::any ? 25'000 : 100'000);
    expect_agreement(GetParam(), "memory", histories, in_memory, base::lock_state::most_remembered);
}

INSTANTIATE_TEST_SUITE_P(memory, lock_state_property, ::testing::ValuesIn(every_kind),
                         [](const auto& one) { return std::string(name_of(one.param)); });

class flawed_model : public ::testing::TestWithParam<conviction> {};

TEST_P(flawed_model, is_convicted) {
    expect_conviction(GetParam().of, GetParam().wrong.which, in_memory, base::lock_state::most_remembered);
}

INSTANTIATE_TEST_SUITE_P(memory, flawed_model, ::testing::ValuesIn(every_conviction(base::lock_state::most_remembered)),
                         [](const auto& one) { return one.param.name(); });

// Users that do not sort their names do wait for each other, and that is seen.
TEST(history_of_several_names, users_that_take_them_in_any_order_are_convicted) {
    using several = history_of_several<base::lock_state>;
    std::optional<std::string> found;
    tally counted;
    for (std::uint64_t seed = 1; seed <= 1000 && !found; ++seed) {
        base::lock_state a, b, c;
        found = several(seed, {&a, &b, &c}, flaw::none, base::lock_state::most_remembered, counted,
                        several::order::as_given)
                    .run();
    }
    ASSERT_TRUE(found) << "no circle in 1000 histories";
    EXPECT_NE(found->find("all wait for each other"), std::string::npos) << *found;
}

}  // namespace
}  // namespace mortise::testing::histories
