#include <mortise/unique_function.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace mortise {
namespace {

// Counts how often it lives, in a body of a chosen size; throws when told to.
template <std::size_t Size>
class counted {
public:
    explicit counted(int& alive, bool throws_on_move = false) : alive_(&alive), throws_(throws_on_move) { ++*alive_; }
    counted(const counted& from) : alive_(from.alive_), calls_(from.calls_), throws_(from.throws_) {
        if (throws_) throw std::runtime_error("copy");
        ++*alive_;
    }
    counted(counted&& from) noexcept : alive_(from.alive_), calls_(from.calls_), throws_(from.throws_) { ++*alive_; }
    counted& operator=(const counted&) = delete;
    ~counted() { --*alive_; }

    int operator()(int x) { return x + ++calls_; }

private:
    int* alive_;
    int calls_ = 0;
    bool throws_;
    std::array<char, Size> body_{};
};

using small = counted<1>;
using big = counted<200>;

template <class Callable>
class unique_function_test : public ::testing::Test {};

using sizes = ::testing::Types<small, big>;
TYPED_TEST_SUITE(unique_function_test, sizes);

TYPED_TEST(unique_function_test, keeps_the_state_of_what_it_calls) {
    int alive = 0;
    {
        unique_function<int(int)> f = TypeParam(alive);
        EXPECT_EQ(alive, 1);
        EXPECT_EQ(f(10), 11);
        EXPECT_EQ(f(10), 12);
        unique_function<int(int)> moved = std::move(f);
        EXPECT_EQ(alive, 1);
        EXPECT_EQ(moved(10), 13);
    }
    EXPECT_EQ(alive, 0);
}

TYPED_TEST(unique_function_test, is_empty_after_being_moved_from) {
    int alive = 0;
    unique_function<int(int)> f = TypeParam(alive);
    unique_function<int(int)> g = std::move(f);
    EXPECT_FALSE(f);  // NOLINT(bugprone-use-after-move): the state after a move is part of the contract
    EXPECT_TRUE(g);
    f = std::move(g);
    EXPECT_TRUE(f);
    EXPECT_FALSE(g);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(alive, 1);
}

TYPED_TEST(unique_function_test, drops_what_it_held_when_assigned) {
    int first = 0;
    int second = 0;
    unique_function<int(int)> f = TypeParam(first);
    f = TypeParam(second);
    EXPECT_EQ(first, 0);
    EXPECT_EQ(second, 1);
    f = nullptr;
    EXPECT_EQ(second, 0);
    EXPECT_FALSE(f);
}

TYPED_TEST(unique_function_test, survives_assignment_to_itself) {
    int alive = 0;
    unique_function<int(int)> f = TypeParam(alive);
    auto& same = f;
    f = std::move(same);
    EXPECT_TRUE(f);
    EXPECT_EQ(alive, 1);
}

TYPED_TEST(unique_function_test, an_exception_while_taking_the_callable_leaves_nothing_behind) {
    int alive = 0;
    {
        const TypeParam refuses_copies(alive, true);
        EXPECT_THROW((unique_function<int(int)>(refuses_copies)), std::runtime_error);
        EXPECT_EQ(alive, 1);
    }
    EXPECT_EQ(alive, 0);
}

TEST(unique_function, is_empty_by_default) {
    unique_function<void()> none;
    unique_function<void()> null = nullptr;
    EXPECT_FALSE(none);
    EXPECT_FALSE(null);
    none = std::move(null);
    EXPECT_FALSE(none);
}

TEST(unique_function, is_empty_if_made_of_nothing) {
    int (*const no_function)() = nullptr;
    int (std::string::*const no_member)() const = nullptr;
    EXPECT_FALSE(unique_function<int()>(no_function));
    EXPECT_FALSE(unique_function<int(const std::string&)>(no_member));
    EXPECT_FALSE(unique_function<int()>(std::function<int()>{}));
    EXPECT_FALSE(unique_function<void()>(unique_function<int()>{}));
    EXPECT_TRUE(unique_function<int()>(std::function<int()>{[] { return 1; }}));
    EXPECT_TRUE(unique_function<void()>(unique_function<int()>{[] { return 1; }}));
}

TEST(unique_function, takes_what_can_only_be_moved) {
    unique_function<int()> f = [owned = std::make_unique<int>(42)] { return *owned; };
    EXPECT_EQ(f(), 42);
    static_assert(!std::is_copy_constructible_v<unique_function<int()>>);
    static_assert(!std::is_copy_assignable_v<unique_function<int()>>);
    static_assert(std::is_nothrow_move_constructible_v<unique_function<int()>>);
    static_assert(std::is_nothrow_move_assignable_v<unique_function<int()>>);
}

TEST(unique_function, passes_arguments_and_results_without_copies) {
    unique_function<std::unique_ptr<int>(std::unique_ptr<int>)> f = [](std::unique_ptr<int> x) {
        ++*x;
        return x;
    };
    EXPECT_EQ(*f(std::make_unique<int>(1)), 2);

    int target = 0;
    unique_function<int&(int&)> same = [](int& x) -> int& { return x; };
    EXPECT_EQ(&same(target), &target);
}

TEST(unique_function, takes_plain_functions) {
    unique_function<int(int)> f = +[](int x) { return 2 * x; };
    EXPECT_EQ(f(21), 42);
}

TEST(unique_function, takes_only_what_fits_the_signature) {
    using takes_text = unique_function<void(std::string)>;
    auto of_int = [](int) {};
    auto of_text = [](const std::string&) {};
    static_assert(!std::is_constructible_v<takes_text, decltype(of_int)>);
    static_assert(std::is_constructible_v<takes_text, decltype(of_text)>);
}

TEST(unique_function, a_callable_whose_move_may_throw_still_moves_safely) {
    struct risky {
        risky() = default;
        risky(risky&&) noexcept(false) {}
        int operator()() const { return 7; }
    };
    unique_function<int()> f = risky{};
    unique_function<int()> g = std::move(f);
    EXPECT_EQ(g(), 7);
}

TEST(unique_function, respects_alignment) {
    struct alignas(64) aligned {
        bool operator()() const { return reinterpret_cast<std::uintptr_t>(this) % 64 == 0; }
    };
    unique_function<bool()> f = aligned{};
    EXPECT_TRUE(f());
}

TEST(unique_function, lets_exceptions_of_the_callable_through) {
    unique_function<void()> f = [] { throw std::runtime_error("inside"); };
    EXPECT_THROW(f(), std::runtime_error);
    EXPECT_TRUE(f);
}

}  // namespace
}  // namespace mortise
