// A store that tells of its locks part by part.
#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

held_lock of(std::string name, std::uint64_t counter) {
    held_lock one{.name = std::move(name)};
    one.holder.token = token::of(counter, 0);
    return one;
}

// Its part `n` begins at "n". After the last come empty ones without end, if there is none.
class in_parts final : public spi::store_wrapper {
public:
    in_parts(const spi::context& outer, const spi::store_factory& inner, std::vector<spi::listing> parts)
        : store_wrapper(outer, inner), parts_(std::move(parts)) {}

    void list_part(std::string_view from, spi::reply<spi::listing> done) override {
        const std::size_t at = from.empty() ? 0 : std::stoul(std::string(from));
        if (at >= parts_.size()) return done({.next = std::to_string(at + 1)});
        done(parts_[at]);
    }

private:
    const std::vector<spi::listing> parts_;
};

client client_of(std::vector<spi::listing> parts) {
    return spi::make_client(
        [parts = std::move(parts)](const spi::context& outer) {
            return std::make_unique<in_parts>(outer, spi::factory_of("memory:"), parts);
        },
        {}, {.patience = 100ms});
}

std::vector<std::string> names_of(const std::vector<held_lock>& all) {
    std::vector<std::string> names;
    for (const held_lock& one : all) names.push_back(one.name);
    return names;
}

TEST(list_in_parts, is_one_list_by_name_with_each_hold_once) {
    client locks = client_of({{.holds = {of("c", 5), of("a", 2)}, .next = "1"},
                              {.next = "2"},
                              {.holds = {of("a", 2), of("b", 3), of("a", 4)}}});
    EXPECT_THAT(names_of(locks.list()), ElementsAre("a", "a", "b", "c"));
    std::vector<std::vector<std::string>> parts;
    locks.list_in_parts([&](const std::vector<held_lock>& some) { parts.push_back(names_of(some)); });
    EXPECT_THAT(parts, ElementsAre(ElementsAre("c", "a"), ElementsAre("a", "b", "a")));
}

TEST(list_in_parts, ends_with_the_part_that_fails) {
    client locks = client_of({{.holds = {of("a", 1)}, .next = "1"}, {.failed = errc::denied, .detail = "not you"}});
    std::error_code ec;
    std::size_t seen = 0;
    locks.list_in_parts([&](const std::vector<held_lock>& some) { seen += some.size(); }, ec);
    EXPECT_EQ(seen, 1u);
    EXPECT_EQ(ec, errc::denied);
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_EQ(ec, errc::denied);
    try {
        static_cast<void>(locks.list());
        ADD_FAILURE() << "listed";
    } catch (const error& e) {
        EXPECT_STREQ(e.what(), "store (given store): not you");
    }
}

TEST(list_in_parts, that_bring_nothing_for_as_long_as_patience_are_no_answer) {
    client locks = client_of({{.holds = {of("a", 1)}, .next = "1"}});
    std::error_code ec;
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_EQ(ec, errc::unreachable);
}

TEST(list_in_parts, may_be_one_of_a_store_that_has_no_parts) {
    client locks{"memory:a_whole_list"};
    const hold mine = locks.acquire("a");
    std::vector<std::string> names;
    locks.list_in_parts([&](const std::vector<held_lock>& some) { names = names_of(some); });
    EXPECT_THAT(names, ElementsAre("a"));
}

}  // namespace
}  // namespace mortise::testing
