// What can be done to a lock from outside: watched, extended by its id, taken away.
#include "conformance/suite.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class outside : public store_suite {
protected:
    // What a watch was told last.
    struct seen {
        std::mutex mutex;
        std::vector<held_lock> locks;
        std::error_code failed;
        int calls = 0;

        client::change told() {
            return [this](const std::vector<held_lock>& all, std::error_code ec) {
                const std::scoped_lock guard{mutex};
                locks = all;
                failed = ec;
                ++calls;
            };
        }
        bool names(const std::vector<std::string>& expected) {
            const std::scoped_lock guard{mutex};
            std::vector<std::string> are;
            for (const auto& l : locks) are.push_back(l.name);
            return calls > 0 && are == expected;
        }
    };
};
EVERY_STORE(outside);

TEST_P(outside, a_watch_tells_how_things_are_and_what_changes) {
    if (!can().lists) GTEST_SKIP() << no_lists;
    client locks = make_client();
    client others = make_client();
    hold a = locks.acquire("a");
    seen all, only_b;
    const watch w = others.watch("", all.told());
    const watch wb = others.watch("b", only_b.told());
    EXPECT_TRUE(eventually([&] { return all.names({"a"}); }, plenty));
    EXPECT_TRUE(eventually([&] { return only_b.names({}); }, plenty));
    hold b = locks.acquire("b");
    EXPECT_TRUE(eventually([&] { return all.names({"a", "b"}); }, plenty));
    EXPECT_TRUE(eventually([&] { return only_b.names({"b"}); }, plenty));
    a.release();
    EXPECT_TRUE(eventually([&] { return all.names({"b"}); }, plenty));
    std::jthread waits{[&] { static_cast<void>(others.acquire("b")); }};
    EXPECT_TRUE(eventually(
        [&] {
            const std::scoped_lock guard{only_b.mutex};
            return !only_b.locks.empty() && (only_b.locks.front().waiting == 1 || !can().fifo);
        },
        plenty));
    b.release();
    waits.join();
    EXPECT_TRUE(eventually([&] { return all.names({}) && only_b.names({}); }, plenty));
    EXPECT_FALSE(all.failed);
}

TEST_P(outside, a_watch_is_silent_while_nothing_changes_and_after_its_end) {
    if (!can().lists) GTEST_SKIP() << no_lists;
    client locks = make_client();
    const hold a = locks.acquire("a");
    seen all;
    {
        const watch w = locks.watch("", all.told());
        EXPECT_TRUE(eventually([&] { return all.names({"a"}); }, plenty));
        std::this_thread::sleep_for(700ms);
        EXPECT_EQ(all.calls, 1);
    }
    const hold b = locks.acquire("b");
    std::this_thread::sleep_for(500ms);
    EXPECT_EQ(all.calls, 1);
}

TEST_P(outside, a_watch_may_end_itself_and_outlive_its_client) {
    if (!can().lists) GTEST_SKIP() << no_lists;
    watch kept;
    {
        client locks = make_client();
        std::atomic<int> calls{0};
        watch once;
        std::mutex ready;
        {
            const std::scoped_lock guard{ready};
            once = locks.watch("", [&](const auto&, std::error_code) {
                const std::scoped_lock now{ready};
                once = watch{};
                ++calls;
                throw 1;
            });
        }
        EXPECT_TRUE(eventually([&] { return calls == 1; }, plenty));
        kept = locks.watch("n", [](const auto&, std::error_code) {});
    }
    EXPECT_THROW(static_cast<void>(make_client().watch("", {})), error);
    EXPECT_THROW(static_cast<void>(make_client().watch("a\nb", [](const auto&, std::error_code) {})), error);
}

TEST_P(outside, a_detached_claim_is_renewed_by_its_id) {
    client script = make_client();
    if (!script.promises().detached) GTEST_SKIP() << "no detached claims";
    claim_id id;
    std::error_code ec;
    auto lease = short_lease();
    for (bool renewed = false; !renewed; lease *= 3) {  // on a machine that stood still it may have ended before
        client first = make_client();
        id = first.acquire("n", {.lease = lease, .renew = renew::off, .kept_by = kept_by::lease}).id();
        renewed = script.renew("n", id, 60s, ec);
        ASSERT_TRUE(renewed || (ec == errc::lost && lease < plenty)) << ec.message();
    }
    std::this_thread::sleep_for(lease / 3 + 500ms);
    EXPECT_EQ(script.try_acquire("n").reason(), errc::busy) << "it was extended";
    EXPECT_FALSE(script.renew("n", claim_id::random(), 60s, ec));
    EXPECT_EQ(ec, errc::lost);
    EXPECT_FALSE(script.renew("n", id, 1ms, ec));
    EXPECT_EQ(ec, errc::invalid_option);
    EXPECT_FALSE(script.renew("", id, 60s, ec));
    EXPECT_EQ(ec, errc::invalid_name);
    EXPECT_EQ(script.release("n", id, ec), release_result::released);
    EXPECT_FALSE(script.renew("n", id, 60s, ec));
    EXPECT_EQ(ec, errc::lost);
}

TEST_P(outside, a_lock_is_broken_if_it_is_still_the_one_that_was_looked_at) {
    if (!can().tokens) GTEST_SKIP() << no_tokens;
    client locks = make_client();
    client operators = make_client({.label = "oncall"});
    hold mine = locks.acquire("n");
    const token its = mine.token();
    std::error_code ec;
    EXPECT_FALSE(operators.break_lock("n", token::of(its.counter() + 1, 0), "wrong one", ec));
    EXPECT_FALSE(ec) << ec.message();
    EXPECT_FALSE(operators.break_lock("m", its, "wrong name", ec));
    EXPECT_TRUE(mine.valid());
    EXPECT_TRUE(operators.break_lock("n", its, "stuck since Monday", ec)) << ec.message();
    EXPECT_TRUE(eventually([&] { return !mine.valid() && mine.lost().stop_requested(); }, plenty));
    EXPECT_FALSE(operators.break_lock("n", its, "again", ec)) << "once only";
    const hold next = operators.acquire("n", {.wait = plenty});
    EXPECT_GT(next.token(), its);
    EXPECT_THROW(operators.break_lock("n", its, "two\nlines", ec), error);
    EXPECT_THROW(operators.break_lock("n", its, std::string(201, 'x'), ec), error);
    EXPECT_TRUE(next.valid());
}

TEST_P(outside, a_check_says_something_with_a_remedy_for_all_that_is_wrong) {
    client locks = make_client();
    std::error_code ec;
    const auto found = locks.check(ec);
    EXPECT_FALSE(ec) << ec.message();
    EXPECT_FALSE(found.empty());
    for (const finding& f : found) {
        EXPECT_FALSE(f.what.empty());
        EXPECT_NE(f.is, finding::grade::problem) << f.what;
        EXPECT_TRUE(f.is <= finding::grade::note || !f.remedy.empty()) << f.what;
    }
}

}  // namespace
}  // namespace mortise::testing
