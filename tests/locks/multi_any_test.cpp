// One lock in several stores: all must grant it, and it is valid while any of them keeps it.
#include "core/fleet.hpp"

#include <mortise/error.hpp>
#include <mortise/multi_lock.hpp>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// Three tables, and two processes that are clients of all of them.
class copies : public ::testing::Test {
protected:
    struct process {
        std::vector<std::shared_ptr<fault_plan>> nets;
        std::shared_ptr<recording_observer> seen = std::make_shared<recording_observer>();
        std::vector<std::unique_ptr<client>> clients;

        multi_lock stock(claim_options options = {.lease = 9s}) {
            std::vector<multi_lock::place> places;
            for (const auto& one : clients) places.emplace_back(*one, "stock");
            return multi_lock{places, std::move(options), valid_while::any};
        }
    };

    ~copies() override { sim.advance(std::chrono::hours{48}); }

    process join() {
        process made;
        for (const auto& table : tables) {
            made.nets.push_back(std::make_shared<fault_plan>());
            client_options options = fleet::quick();
            options.observer = made.seen;
            made.clients.push_back(std::make_unique<client>(
                spi::make_client(faulty(stores::memory::open(table), made.nets.back()), sim.world(), options)));
        }
        return made;
    }

    // As a master does that fails over before it has replicated.
    void forget(std::size_t store) {
        const auto all = tables[store]->list();
        ASSERT_EQ(all.size(), 1u);
        ASSERT_TRUE(tables[store]->break_hold("stock", all.front().holder.token.counter()));
        sim.settle();
    }

    std::size_t held() {
        std::size_t on = 0;
        for (const auto& table : tables) on += table->list().size();
        return on;
    }

    sim_world sim;
    std::vector<std::shared_ptr<stores::memory::memory_table>> tables{stores::memory::make_table(sim.world().clock),
                                                                      stores::memory::make_table(sim.world().clock),
                                                                      stores::memory::make_table(sim.world().clock)};
    process mine = join();
    process theirs = join();
};

TEST_F(copies, a_store_that_forgets_lets_nobody_in) {
    multi_lock lock = mine.stock();
    multi_lock rival = theirs.stock();
    multi_hold held_by_us = lock.acquire();
    bool told = false;
    held_by_us.on_lost([&] { told = true; });
    EXPECT_FALSE(held_by_us.at_risk());
    forget(1);
    EXPECT_TRUE(held_by_us.valid());
    EXPECT_TRUE(held_by_us.at_risk());
    EXPECT_FALSE(held_by_us.lost().stop_requested());
    EXPECT_EQ(mine.seen->count(event_kind::at_risk), 1u);
    for (int n = 0; n < 9; ++n) {
        EXPECT_EQ(rival.try_acquire().reason(), errc::busy);
        sim.advance(3s);
        EXPECT_TRUE(held_by_us.valid()) << "for three leases";
    }
    EXPECT_FALSE(told);
    EXPECT_EQ(held_by_us.release(), release_result::released);
    EXPECT_EQ(held(), 0u);
    EXPECT_TRUE(rival.try_acquire());
}

TEST_F(copies, the_last_loss_is_the_loss) {
    multi_lock lock = mine.stock();
    multi_hold held_by_us = lock.acquire();
    int told = 0;
    held_by_us.on_lost([&] { ++told; });
    forget(0);
    forget(2);
    EXPECT_TRUE(held_by_us.valid());
    EXPECT_EQ(told, 0);
    forget(1);
    EXPECT_FALSE(held_by_us.valid());
    EXPECT_FALSE(held_by_us.at_risk());
    EXPECT_TRUE(held_by_us.lost().stop_requested());
    EXPECT_EQ(told, 1);
    EXPECT_NE(held_by_us.release(), release_result::released);
}

TEST_F(copies, a_store_that_is_not_reachable_refuses_it_and_nothing_is_left_on_the_others) {
    mine.nets[2]->fail(verb::claim, fault_plan::for_ever);
    multi_lock lock = mine.stock();
    std::optional<multi_attempt> got;
    lock.start({.wait = 0s}, [&](multi_attempt answer) { got.emplace(std::move(answer)); });
    sim.advance(1min);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->reason(), errc::unreachable);
    EXPECT_EQ(held(), 0u);
}

TEST_F(copies, validity_is_that_of_the_longest) {
    mine.nets[0]->fail(verb::renew, fault_plan::for_ever);
    multi_lock lock = mine.stock();
    const multi_hold held_by_us = lock.acquire();
    sim.advance(30s);
    EXPECT_TRUE(held_by_us.valid());
    EXPECT_TRUE(held_by_us.at_risk());
    EXPECT_GT(held_by_us.remaining(), 0s);
    boot_clock::time_point last = boot_clock::time_point::min();
    for (const hold& one : held_by_us.holds()) last = std::max(last, one.valid_until());
    EXPECT_EQ(held_by_us.valid_until(), last);
}

TEST_F(copies, unlock_is_told_of_a_loss_only_if_all_were_lost) {
    multi_lock lock = mine.stock();
    lock.lock();
    forget(0);
    std::error_code ec;
    lock.unlock(ec);
    EXPECT_FALSE(ec) << ec.message();
}

}  // namespace
}  // namespace mortise::testing
