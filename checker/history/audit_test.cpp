// The auditor itself: hand-made histories, guilty and innocent, and clients whose store is bent on purpose.
#include "checker/history/audit.hpp"

#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <atomic>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using stage = spi::admitted_claim::stage;

class auditing : public ::testing::Test {
protected:
    static constexpr std::chrono::seconds bound{4};

    static claim_id id(std::uint64_t n) { return {{n, n}}; }
    static spi::stored_claim holder(std::uint64_t n, const std::string& name = "x") { return {name, id(n), true}; }
    static spi::stored_claim waiter(std::uint64_t n, const std::string& name = "x") { return {name, id(n), false}; }
    static spi::admitted_claim says(stage is, std::uint64_t n, const std::string& name = "x") {
        return {name, id(n), is};
    }
    void see(std::chrono::milliseconds at, std::vector<spi::stored_claim> stored,
             std::vector<spi::admitted_claim> admitted) {
        judge_.see({start_ + at, std::move(stored), std::move(admitted)});
    }
    std::size_t orphans() const { return judge_.found().orphans.size(); }
    std::size_t idle() const { return judge_.found().idle.size(); }

    audit_judge judge_{bound};

private:
    const std::chrono::steady_clock::time_point start_{1000s};
};

TEST_F(auditing, acquits_an_empty_store_and_clients_that_do_nothing) {
    see(0s, {}, {});
    EXPECT_FALSE(judge_.undecided());
    EXPECT_TRUE(judge_.found().innocent());
}

TEST_F(auditing, acquits_claims_that_clients_admit_to_at_any_stage) {
    for (const auto at : {0s, 4s, 8s})
        see(at, {holder(1), waiter(2), holder(3, "y")},
            {says(stage::holding, 1), says(stage::waiting, 2), says(stage::leaving, 3, "y")});
    EXPECT_FALSE(judge_.undecided());
    EXPECT_TRUE(judge_.found().innocent());
}

TEST_F(auditing, convicts_a_holder_that_nobody_admits_to) {
    see(0s, {holder(1)}, {});
    EXPECT_TRUE(judge_.undecided());
    see(3999ms, {holder(1)}, {});
    EXPECT_TRUE(judge_.found().innocent()) << "the bound is not over";
    see(4s, {holder(1)}, {});
    ASSERT_EQ(orphans(), 1u);
    EXPECT_EQ(judge_.found().orphans.front().id, id(1));
    EXPECT_FALSE(judge_.undecided());
    see(9s, {holder(1)}, {});
    EXPECT_EQ(orphans(), 1u) << "once each";
}

TEST_F(auditing, convicts_a_waiter_that_nobody_admits_to) {
    see(0s, {holder(1), waiter(2)}, {says(stage::holding, 1)});
    see(4s, {holder(1), waiter(2)}, {says(stage::holding, 1)});
    EXPECT_EQ(orphans(), 1u);
}

TEST_F(auditing, convicts_what_cannot_be_read) {
    see(0s, {{.name = "x", .where = "t/x/rubbish"}}, {});
    see(4s, {{.name = "x", .where = "t/x/rubbish"}}, {});
    EXPECT_EQ(orphans(), 1u);
    EXPECT_THAT(judge_.found().describe(), ::testing::HasSubstr("t/x/rubbish"));
}

TEST_F(auditing, does_not_take_the_same_id_on_another_name_for_an_admission) {
    see(0s, {holder(1, "x")}, {says(stage::holding, 1, "y")});
    see(4s, {holder(1, "x")}, {says(stage::holding, 1, "y")});
    EXPECT_EQ(orphans(), 1u);
}

TEST_F(auditing, acquits_an_orphan_that_goes_in_time) {
    see(0s, {holder(1)}, {});
    see(3s, {}, {});
    EXPECT_FALSE(judge_.undecided());
    see(6s, {holder(1)}, {});
    see(8s, {holder(1)}, {});
    EXPECT_TRUE(judge_.found().innocent()) << "it was away in between, and has not been there for long";
}

TEST_F(auditing, acquits_a_claim_that_somebody_admits_to_in_between) {
    see(0s, {holder(1)}, {});
    see(2s, {holder(1)}, {says(stage::leaving, 1)});
    EXPECT_FALSE(judge_.undecided());
    see(5s, {holder(1)}, {});
    EXPECT_TRUE(judge_.found().innocent());
}

TEST_F(auditing, acquits_traffic_that_is_never_seen_at_one_instant) {
    for (std::uint64_t n = 0; n < 100; ++n)
        see(100ms * n, {holder(n), waiter(n + 1)}, {says(stage::waiting, n + 1), says(stage::waiting, n + 2)});
    EXPECT_TRUE(judge_.found().innocent()) << "each was gone when it was looked for again";
}

TEST_F(auditing, is_done_with_the_first_suspects_though_there_are_new_ones) {
    see(0s, {holder(1)}, {});
    see(1s, {holder(2)}, {});
    EXPECT_FALSE(judge_.undecided());
}

// A wake-up got lost: the store has nobody hold the name, or one that does not know it.
TEST_F(auditing, convicts_a_name_that_somebody_waits_for_and_nobody_holds) {
    see(0s, {waiter(2)}, {says(stage::waiting, 2)});
    EXPECT_TRUE(judge_.undecided());
    see(4s, {waiter(2)}, {says(stage::waiting, 2)});
    EXPECT_THAT(judge_.found().idle, ::testing::ElementsAre("x"));
    EXPECT_EQ(orphans(), 0u);
}

TEST_F(auditing, convicts_a_waiter_that_holds_without_knowing_it) {
    see(0s, {holder(2)}, {says(stage::waiting, 2)});
    see(2s, {holder(2), waiter(3)}, {says(stage::waiting, 2), says(stage::waiting, 3)});
    see(4s, {holder(2), waiter(3)}, {says(stage::waiting, 2), says(stage::waiting, 3)});
    EXPECT_EQ(idle(), 1u);
}

TEST_F(auditing, convicts_a_release_that_gets_nowhere_while_others_wait) {
    for (const auto at : {0s, 2s, 4s})
        see(at, {holder(1), waiter(2)}, {says(stage::leaving, 1), says(stage::waiting, 2)});
    EXPECT_EQ(idle(), 1u);
    EXPECT_EQ(orphans(), 0u) << "somebody still cares for it";
}

TEST_F(auditing, convicts_idle_names_although_waiters_give_up_and_come_again) {
    for (std::uint64_t n = 0; n <= 8; ++n) see(500ms * n, {holder(1), waiter(10 + n)}, {says(stage::waiting, 10 + n)});
    EXPECT_EQ(idle(), 1u);
    EXPECT_EQ(orphans(), 1u) << "and what is in their way";
}

TEST_F(auditing, acquits_a_name_whose_holders_change_although_none_is_met) {
    for (std::uint64_t n = 0; n < 100; ++n) see(100ms * n, {holder(n), waiter(999)}, {says(stage::waiting, 999)});
    EXPECT_EQ(idle(), 0u);
}

TEST_F(auditing, acquits_a_name_that_is_held_or_that_nobody_waits_for) {
    for (const auto at : {0s, 4s, 8s})
        see(at, {holder(1), waiter(2), holder(3, "y")},
            {says(stage::holding, 1), says(stage::waiting, 2), says(stage::leaving, 3, "y")});
    EXPECT_EQ(idle(), 0u);
}

TEST_F(auditing, acquits_a_wait_that_ends_in_time) {
    see(0s, {holder(1), waiter(2)}, {says(stage::leaving, 1), says(stage::waiting, 2)});
    see(3s, {holder(2)}, {says(stage::holding, 2)});
    see(5s, {holder(2), waiter(4)}, {says(stage::leaving, 2), says(stage::waiting, 4)});
    see(8s, {holder(4)}, {says(stage::holding, 4)});
    EXPECT_TRUE(judge_.found().innocent());
}

// What clients admit to.
TEST(admitting, follows_a_claim_through_its_stages) {
    client holds{"memory:admitting"};
    client waits{"memory:admitting"};
    EXPECT_TRUE(spi::admitted(holds).empty());
    hold mine = holds.acquire("x");
    ASSERT_EQ(spi::admitted(holds).size(), 1u);
    EXPECT_EQ(spi::admitted(holds).front().name, "x");
    EXPECT_EQ(spi::admitted(holds).front().is, stage::holding);
    std::atomic<bool> got{false};
    waits.start({.name = "x"}, [&](const attempt& one) { got = static_cast<bool>(one); });
    ASSERT_EQ(spi::admitted(waits).size(), 1u);
    EXPECT_EQ(spi::admitted(waits).front().is, stage::waiting);
    EXPECT_NE(spi::admitted(waits).front().id, spi::admitted(holds).front().id);
    mine.release();
    EXPECT_TRUE(eventually([&] { return got.load(); }));
    EXPECT_TRUE(eventually([&] { return admitted_by({&holds, &waits}).empty(); })) << "the hold was dropped";
}

// A store whose releases are not heard, or not answered.
class deaf_store final : public spi::store_wrapper {
public:
    using store_wrapper::store_wrapper;
    static inline std::atomic<bool> deaf{false};

    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        if (!deaf) return store_wrapper::release(name, id, std::move(done));
        done(spi::release_answer::unknown);
    }
};

TEST(admitting, counts_a_release_until_the_store_has_answered_it) {
    const auto inner = spi::factory_of("memory:deaf");
    client locks = spi::make_client([&](const auto& outer) { return std::make_unique<deaf_store>(outer, inner); });
    hold mine = locks.acquire("x");
    const claim_id id = spi::admitted(locks).front().id;
    deaf_store::deaf = true;
    mine.start_release([](release_result, std::error_code) {});
    ASSERT_EQ(spi::admitted(locks).size(), 1u);
    EXPECT_EQ(spi::admitted(locks).front().is, stage::leaving);
    EXPECT_EQ(spi::admitted(locks).front().id, id);
    deaf_store::deaf = false;
    EXPECT_TRUE(eventually([&] { return spi::admitted(locks).empty(); }));
}

}  // namespace
}  // namespace mortise::testing
