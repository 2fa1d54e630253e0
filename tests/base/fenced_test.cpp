#include <mortise/fenced.hpp>
#include <mortise/token.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise {
namespace {

constexpr token older{10};
constexpr token newer{20};

TEST(fenced_register, is_read_and_written_under_the_seal) {
    fenced::register_of<int> stock{5};
    ASSERT_TRUE(stock.seal(older));
    EXPECT_EQ(stock.read(older), 5);
    EXPECT_TRUE(stock.write(older, 4));
    EXPECT_EQ(stock.peek(), 4);
    EXPECT_EQ(stock.sealed(), older);
}

TEST(fenced_register, refuses_whoever_has_not_sealed) {
    fenced::register_of<int> stock{5};
    EXPECT_EQ(stock.read(older), std::nullopt);
    EXPECT_FALSE(stock.write(older, 4));
    EXPECT_EQ(stock.peek(), 5);
}

TEST(fenced_register, refuses_the_old_holder_in_everything) {
    fenced::register_of<int> stock{5};
    ASSERT_TRUE(stock.seal(older));
    ASSERT_TRUE(stock.seal(newer));
    EXPECT_FALSE(stock.seal(older));
    EXPECT_EQ(stock.read(older), std::nullopt);
    EXPECT_FALSE(stock.write(older, 4));
    EXPECT_EQ(stock.sealed(), newer);
    EXPECT_EQ(stock.read(newer), 5);
}

TEST(fenced_register, may_be_sealed_again_by_the_same_holder) {
    fenced::register_of<int> stock{5};
    EXPECT_TRUE(stock.seal(older));
    EXPECT_TRUE(stock.seal(older));
    EXPECT_TRUE(stock.write(older, 6));
}

TEST(fenced_register, a_holder_who_seals_during_an_update_makes_it_fail) {
    fenced::register_of<int> stock{5};
    const auto after = stock.update(older, [&](int before) {
        EXPECT_TRUE(stock.seal(newer));
        return before - 1;
    });
    EXPECT_EQ(after, std::nullopt);
    EXPECT_EQ(stock.peek(), 5);
    EXPECT_EQ(stock.update(newer, [](int before) { return before - 1; }), 4);
    EXPECT_EQ(stock.update(older, [](int before) { return before - 1; }), std::nullopt);
    EXPECT_EQ(stock.peek(), 4);
}

// What is often taken for fencing: refuses old tokens, but only when written to.
class write_only_fence {
public:
    explicit write_only_fence(int initial) : value_(initial) {}

    int read() const { return value_; }
    bool write(token mine, int value) {
        if (mine < highest_) return false;
        highest_ = mine;
        value_ = value;
        return true;
    }

private:
    token highest_{};
    int value_;
};

// One story, two endings. The old holder has read and is paused; its lease ends; the new holder begins; the old one
// wakes and writes late; the new one writes. Each sale takes one from the stock, so stock + sold must stay 5.
TEST(fencing, sealing_first_keeps_every_update) {
    fenced::register_of<int> stock{5};
    int sold = 0;

    ASSERT_TRUE(stock.seal(older));
    const int old_saw = stock.read(older).value();
    // ...the old holder is paused here, and loses the lock...
    ASSERT_TRUE(stock.seal(newer));
    const int new_saw = stock.read(newer).value();
    if (stock.write(older, old_saw - 1)) ++sold;  // late
    if (stock.write(newer, new_saw - 1)) ++sold;

    EXPECT_EQ(sold, 1);
    EXPECT_EQ(stock.peek(), 4);
    EXPECT_EQ(stock.peek() + sold, 5);
}

TEST(fencing, checking_only_writes_loses_an_update) {
    write_only_fence stock{5};
    int sold = 0;

    const int old_saw = stock.read();
    // ...the old holder is paused here, and loses the lock...
    const int new_saw = stock.read();
    if (stock.write(older, old_saw - 1)) ++sold;  // late, but the fence has not heard of the new holder yet
    if (stock.write(newer, new_saw - 1)) ++sold;

    EXPECT_EQ(sold, 2);          // both were told that they sold one,
    EXPECT_EQ(stock.read(), 4);  // yet only one left the stock
    EXPECT_NE(stock.read() + sold, 5);
}

TEST(fenced_register, counts_every_accepted_update_of_many_threads) {
    fenced::register_of<int> sum;
    std::atomic<int> accepted = 0;
    std::atomic<std::uint64_t> next = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 2000; ++i) {
                    const token mine{++next};
                    if (sum.update(mine, [](int before) { return before + 1; })) ++accepted;
                }
            });
        }
    }
    EXPECT_GT(accepted, 0);
    EXPECT_EQ(sum.peek(), accepted);
}

TEST(fenced_padding, makes_text_order_number_order) {
    constexpr auto highest = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(fenced::padded(token{42}), "00000000000000000042");
    EXPECT_EQ(fenced::padded(token{highest}), "18446744073709551615");
    const std::vector<std::uint64_t> rising{0, 1, 9, 10, 99, 100, 9007199254740993, highest - 1, highest};
    for (std::size_t i = 1; i < rising.size(); ++i) {
        EXPECT_LT(fenced::padded(token{rising[i - 1]}), fenced::padded(token{rising[i]}));
    }
}

}  // namespace
}  // namespace mortise
