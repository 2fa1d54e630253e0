// P7, P10: only the owner gives a lock back, from wherever it is, and as often as it likes.
#include "conformance/suite.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>

#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class handles : public store_suite {
protected:
    bool is_free(client& others) const { return static_cast<bool>(others.try_acquire("n")); }
};
EVERY_STORE(handles);

TEST_P(handles, may_be_released_by_another_thread) {
    client locks = make_client();
    client others = make_client();
    hold mine = locks.acquire("n");
    std::thread{[&] { EXPECT_EQ(mine.release(), release_result::released); }}.join();
    EXPECT_FALSE(mine.valid());
    EXPECT_FALSE(mine);
    EXPECT_TRUE(is_free(others));
}

TEST_P(handles, may_move_to_another_thread_and_end_there) {
    client locks = make_client();
    client others = make_client();
    hold mine = locks.acquire("n");
    const claim_id id = mine.id();
    std::thread{[&, travelling = std::move(mine)]() mutable {
        EXPECT_TRUE(travelling.valid());
        EXPECT_EQ(travelling.id(), id);
        EXPECT_FALSE(is_free(others));
        const hold here = std::move(travelling);
    }}.join();
    EXPECT_FALSE(mine.valid());
    EXPECT_TRUE(is_free(others));
}

TEST_P(handles, are_released_when_another_hold_is_moved_into_them) {
    client locks = make_client();
    client others = make_client();
    hold mine = locks.acquire("n");
    mine = locks.acquire("other");
    EXPECT_EQ(mine.name(), "other");
    EXPECT_TRUE(mine.valid());
    EXPECT_TRUE(is_free(others));
}

TEST_P(handles, another_id_releases_nothing) {
    client locks = make_client();
    client others = make_client();
    const hold mine = locks.acquire("n");
    const bool ids = others.promises().detached;  // only detached claims show theirs
    hold elsewhere = others.acquire("other", {.kept_by = ids ? kept_by::lease : kept_by::process});
    for (const claim_id& not_mine : {claim_id::random(), elsewhere.id(), claim_id{}}) {
        std::error_code ec;
        EXPECT_EQ(others.release("n", not_mine, ec), release_result::taken_over);
        EXPECT_FALSE(ec) << ec.message();
        EXPECT_TRUE(mine.valid());
        EXPECT_FALSE(is_free(others));
    }
    EXPECT_TRUE(elsewhere.valid());
    EXPECT_EQ(elsewhere.release(), release_result::released);  // not as its id was answered under the other name
}

TEST_P(handles, an_id_that_holds_nothing_is_told_so) {
    client locks = make_client();
    std::error_code ec;
    EXPECT_EQ(locks.release("n", claim_id::random(), ec), release_result::expired);
    EXPECT_FALSE(ec) << ec.message();
    EXPECT_TRUE(is_free(locks));
}

TEST_P(handles, a_repeated_release_is_answered_as_the_first_was) {
    client locks = make_client();
    client others = make_client();
    if (!locks.promises().detached) GTEST_SKIP() << "without detached claims no id is shown to repeat it with";
    hold mine = locks.acquire("n", {.kept_by = kept_by::lease});
    const claim_id id = mine.id();
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_EQ(mine.release(), release_result::released);

    // Also when the repeat comes by another way, and when somebody else holds the lock by then.
    const hold theirs = others.acquire("n");
    std::error_code ec;
    EXPECT_EQ(others.release("n", id, ec), release_result::released);
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(theirs.valid());
    EXPECT_FALSE(is_free(locks));
}

TEST_P(handles, an_empty_one_has_nothing_to_release) {
    hold none;
    std::error_code ec;
    EXPECT_EQ(none.release(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::not_owner);
    EXPECT_FALSE(none.valid());
}

TEST_P(handles, die_with_their_client_and_the_lock_is_free_at_once) {
    client others = make_client();
    auto locks = std::make_unique<client>(make_client());
    hold mine = locks->acquire("n");
    ASSERT_FALSE(is_free(others));
    locks.reset();
    EXPECT_FALSE(mine.valid());
    EXPECT_TRUE(others.try_acquire("n", {.wait = plenty})) << "it would be free by lease only after 30 s";
    std::error_code ec;
    EXPECT_EQ(mine.release(ec), release_result::unknown);
    EXPECT_EQ(ec, errc::closed);
}

// kept_by::lease: for scripts and for once-per-period jobs.
class detached : public store_suite {
protected:
    static claim_options for_a_minute() { return {.lease = 60s, .kept_by = kept_by::lease, .label = "nightly"}; }
};
EVERY_STORE(detached);

TEST_P(detached, a_claim_outlives_its_hold_and_its_client_and_is_released_by_its_id) {
    client others = make_client();
    if (!others.promises().detached) GTEST_SKIP() << "not promised, and refused (see below)";
    ASSERT_TRUE(others.try_acquire("n"));  // meets the store before the other leaves it
    claim_id id;
    {
        client script = make_client();
        const hold mine = script.acquire("n", for_a_minute());
        EXPECT_TRUE(mine.valid());
        id = mine.id();
    }
    const attempt refused = others.try_acquire("n");
    ASSERT_FALSE(refused);
    ASSERT_TRUE(refused.refusal().holder) << "the holder is named after its client is gone";
    EXPECT_EQ(refused.refusal().holder->label, names_holders() ? "nightly" : "");

    std::error_code ec;
    EXPECT_EQ(others.release("n", claim_id::random(), ec), release_result::taken_over);
    EXPECT_FALSE(others.try_acquire("n"));
    EXPECT_EQ(others.release("n", id, ec), release_result::released);
    EXPECT_EQ(others.release("n", id, ec), release_result::released) << "and again";
    EXPECT_TRUE(others.try_acquire("n"));
}

TEST_P(detached, a_claim_ends_with_its_lease) {
    client others = make_client();
    if (!others.promises().detached) GTEST_SKIP() << "not promised, and refused (see below)";
    ASSERT_TRUE(others.try_acquire("n"));
    {
        client script = make_client();
        static_cast<void>(script.acquire("n", {.lease = 300ms, .kept_by = kept_by::lease}));
    }
    EXPECT_TRUE(others.try_acquire("n", {.wait = plenty}));
}

TEST_P(detached, a_demand_that_is_not_promised_is_refused_by_name) {
    client locks = make_client();
    attempt got = locks.try_acquire("n", for_a_minute());
    EXPECT_EQ(static_cast<bool>(got), locks.promises().detached);
    if (got) {
        EXPECT_EQ(got->release(), release_result::released);
        return;
    }
    EXPECT_EQ(got.reason(), errc::unsupported);
    EXPECT_NE(got.refusal().detail.find("detached"), std::string::npos) << got.refusal().detail;
}

}  // namespace
}  // namespace mortise::testing
