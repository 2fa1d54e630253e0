// Fields, and copies of them by bytes, which g++ 12 makes inside co_await expressions.
#include <mortise/field.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace mortise {
namespace {

const std::string long_text(100, 'x');

TEST(field, reads_and_is_assigned_as_its_value) {
    field<std::string> text;
    EXPECT_TRUE(text.empty());
    text = "short";
    EXPECT_EQ(text, "short");
    text = long_text;
    const std::string& seen = text;
    EXPECT_EQ(seen, long_text);
    const std::string_view view = text;
    EXPECT_EQ(view, long_text);
    const field<std::string> copy = text;
    EXPECT_EQ(copy, text);
    field<std::string> moved = std::move(text);
    EXPECT_EQ(moved.take(), long_text);
    text = copy;
    EXPECT_EQ(text.value(), long_text);

    const field<std::shared_ptr<std::string>> pointer = std::make_shared<std::string>("seven");
    EXPECT_TRUE(pointer);
    EXPECT_EQ(pointer->size(), 5u);
    EXPECT_FALSE(field<std::shared_ptr<int>>{});

    std::stop_source source;
    const field<std::stop_token> stop = source.get_token();
    EXPECT_TRUE(stop.stop_possible());
    source.request_stop();
    EXPECT_TRUE(stop.stop_requested());
}

// A field whose bytes were copied from another, as the compiler does it.
template <class T>
class byte_copy {
public:
    explicit byte_copy(const field<T>& original) {
        std::memcpy(room_, static_cast<const void*>(&original), sizeof room_);
    }
    ~byte_copy() { std::destroy_at(&it()); }
    byte_copy(const byte_copy&) = delete;
    byte_copy& operator=(const byte_copy&) = delete;
    field<T>& it() { return *std::launder(reinterpret_cast<field<T>*>(room_)); }

private:
    alignas(field<T>) std::byte room_[sizeof(field<T>)];
};

TEST(field, a_copy_by_bytes_borrows_and_leaves_the_value_to_the_original) {
    const field<std::shared_ptr<int>> original = std::make_shared<int>(7);
    {
        byte_copy<std::shared_ptr<int>> copy{original};
        EXPECT_EQ(*copy.it().value(), 7);
        const field<std::shared_ptr<int>> moved = std::move(copy.it());
        EXPECT_EQ(original.value().use_count(), 2) << "moved out of what is borrowed";
        const auto taken = copy.it().take();
        EXPECT_EQ(original.value().use_count(), 3);
    }
    EXPECT_EQ(original.value().use_count(), 1);
}

TEST(field, a_copy_by_bytes_that_is_assigned_to_has_a_value_of_its_own) {
    for (const std::string& text : {std::string{"short"}, long_text}) {
        const field<std::string> original = text;
        byte_copy<std::string> copy{original};
        EXPECT_EQ(copy.it(), text);
        copy.it() = text + "y";
        EXPECT_EQ(copy.it(), text + "y");
        EXPECT_EQ(original, text);
    }
    const field<std::shared_ptr<int>> original = std::make_shared<int>(7);
    const auto other = std::make_shared<int>(8);
    {
        byte_copy<std::shared_ptr<int>> copy{original};
        copy.it() = other;
        EXPECT_EQ(original.value().use_count(), 1);
        EXPECT_EQ(other.use_count(), 2);
    }
    EXPECT_EQ(other.use_count(), 1);
}

}  // namespace
}  // namespace mortise
