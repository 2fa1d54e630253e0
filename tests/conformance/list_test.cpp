// Who holds what, as every client of the store sees it.
#include "conformance/suite.hpp"
#include "support/waiting.hpp"

#include <mortise/counting_semaphore.hpp>
#include <mortise/error.hpp>

#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class lists : public store_suite {
protected:
    void SetUp() override {
        if (!can().lists) GTEST_SKIP() << no_lists;
    }
};
EVERY_STORE(lists);

class lists_not_promised : public store_suite {};
EVERY_STORE(lists_not_promised);

TEST_P(lists_not_promised, are_refused_by_name) {
    if (can().lists) GTEST_SKIP() << "the store promises lists";
    client locks = make_client();
    const hold mine = locks.acquire("n");
    std::error_code ec;
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_EQ(ec, errc::unsupported);
    for (const auto& ask : {std::function{[&] { static_cast<void>(locks.list()); }}, std::function{[&] {
                                static_cast<void>(locks.watch("", [](const auto&, std::error_code) {}));
                            }}}) {
        try {
            ask();
            ADD_FAILURE() << "a store that promises no lists gave one";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::unsupported);
            EXPECT_NE(std::string(e.what()).find("lists"), std::string::npos) << e.what();
        }
    }
    EXPECT_TRUE(mine.valid());
}

TEST_P(lists, show_every_hold_of_everybody_by_name) {
    client locks = make_client({.label = "nightly"});
    client others = make_client();
    EXPECT_TRUE(others.list().empty());
    hold b = locks.acquire("b");
    hold a = locks.acquire("a", {.label = "first"});
    const auto all = others.list();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].name, "a");
    EXPECT_EQ(all[0].holder.label, "first");
    EXPECT_EQ(all[0].holder.pid, ::getpid());
    EXPECT_EQ(all[0].holder.token.counter(), token_of(a).counter());
    EXPECT_EQ(all[1].name, "b");
    EXPECT_EQ(all[1].holder.label, "nightly");
    EXPECT_EQ(all[1].capacity, 1u);
    EXPECT_EQ(all[1].weight, 1u);
    EXPECT_EQ(all[1].waiting, 0u);
    a.release();
    b.release();
    EXPECT_TRUE(others.list().empty());
}

TEST_P(lists, count_who_waits_and_show_every_holder_of_a_name) {
    client locks = make_client();
    client others = make_client();
    if (can().most_capacity < 3) GTEST_SKIP() << "exclusive locks only";
    if (!can().fifo) GTEST_SKIP() << no_line;
    counting_semaphore pool{locks, "pool", 3};
    hold two = pool.acquire(2);
    hold one = pool.acquire();
    std::jthread waits{[&] { static_cast<void>(counting_semaphore{others, "pool", 3}.acquire()); }};
    EXPECT_TRUE(eventually([&] { return others.list().front().waiting == 1; }, plenty));
    const auto all = others.list();
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].weight + all[1].weight, 3u);
    EXPECT_EQ(all[0].capacity, 3u);
    one.release();
    waits.join();
}

TEST_P(lists, say_what_is_left_of_a_lease_where_that_is_known) {
    client locks = make_client();
    client others = make_client();
    const mortise::promises& can = locks.promises();
    const hold mine = locks.acquire("n", {.lease = 20s});
    const auto all = others.list();
    ASSERT_EQ(all.size(), 1u);
    const bool known = !can.store.starts_with("zookeeper");
    EXPECT_EQ(all[0].lease_left.has_value(), known);
    EXPECT_LE(all[0].lease_left.value_or(1s), 20s);
    EXPECT_GT(all[0].lease_left.value_or(1s), 0s);
}

TEST_P(lists, are_there_after_a_client_moved) {
    client locks = make_client();
    client gone = make_client();
    client heir = std::move(gone);
    static_cast<void>(heir.list());
    std::error_code ec;
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_FALSE(ec);
}

}  // namespace
}  // namespace mortise::testing
