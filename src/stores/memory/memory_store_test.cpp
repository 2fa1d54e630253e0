// What is special to `memory:`; what it shares with every store is in tests/conformance.
#include "stores/memory/memory_store.hpp"

#include "checker/sim/sim_world.hpp"
#include "stores/memory/memory_table.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/client.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::memory {
namespace {

using namespace std::chrono_literals;
using mortise::testing::scale;
using mortise::testing::sim_world;

TEST(memory_addresses, clients_of_one_address_meet) {
    for (const char* address : {"memory:", "memory:shop", "memory:with/slash"}) {
        client one{address};
        client other{address};
        const hold mine = one.acquire("n");
        EXPECT_FALSE(other.try_acquire("n")) << address;
    }
}

TEST(memory_addresses, tables_of_two_names_do_not_meet) {
    client nameless{"memory:"};
    client a{"memory:a"};
    client b{"memory:b"};
    const hold one = nameless.acquire("n");
    const attempt two = a.try_acquire("n");
    const attempt three = b.try_acquire("n");
    EXPECT_TRUE(two);
    EXPECT_TRUE(three);
}

TEST(memory_addresses, hosts_and_options_are_refused) {
    for (const char* address : {"memory://localhost", "memory:?x=y", "memory:shop?lease=5", "memory://h/shop"}) {
        try {
            client{address};
            ADD_FAILURE() << address;
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::bad_url) << address;
            EXPECT_NE(std::string(e.what()).find("memory:NAME"), std::string::npos) << e.what();
        }
    }
}

TEST(memory_addresses, a_table_goes_with_its_last_client) {
    {
        client script{"memory:short-lived"};
        static_cast<void>(script.acquire("n", {.lease = 1h, .kept_by = kept_by::lease}));
    }
    client later{"memory:short-lived"};
    EXPECT_TRUE(later.try_acquire("n"));
}

// One table on simulated time, and clients of it without threads.
class memory_store_test : public ::testing::Test {
protected:
    void TearDown() override { sim_.settle(); }  // an answer on its way owns a hold, and through it all the rest

    std::unique_ptr<client> join() { return std::make_unique<client>(spi::make_client(open(table_), sim_.world())); }

    // A claim under way, and when it was answered.
    struct call {
        std::optional<attempt> answer;
        spi::time_point at{};
    };
    std::shared_ptr<call> start(client& locks, claim_options options = {}) {
        auto mine = std::make_shared<call>();
        locks.start({.name = "n", .options = std::move(options)}, [this, mine](attempt got) {
            mine->answer.emplace(std::move(got));
            mine->at = sim_.clock().now();
        });
        sim_.settle();
        return mine;
    }
    static claim_options silent(std::chrono::nanoseconds lease) { return {.lease = lease, .renew = renew::off}; }

    void use_fresh_names(client& locks, const std::string& prefix, int n) {
        for (int i = 0; i < n; ++i) ASSERT_TRUE(locks.try_acquire(prefix + std::to_string(i)));
    }

    sim_world sim_;
    std::shared_ptr<memory_table> table_ = make_table(sim_.world().clock);
};

TEST_F(memory_store_test, a_stream_of_fresh_names_stays_bounded) {
    const auto locks = join();
    use_fresh_names(*locks, "fresh ", 100'000);
    EXPECT_LE(table_->names(), 16u * 4097u);
}

TEST_F(memory_store_test, idle_names_are_forgotten_once_their_ended_ids_are) {
    const auto locks = join();
    const hold kept = locks->acquire("held all the time");
    use_fresh_names(*locks, "early ", 3000);
    EXPECT_EQ(table_->names(), 3001u);
    sim_.advance(base::ended_claim::remembered_for);
    use_fresh_names(*locks, "late ", 3000);
    EXPECT_LE(table_->names(), 3001u + 16u) << "one early name went for each late one that came, and more";
    EXPECT_TRUE(kept.valid());
    EXPECT_FALSE(join()->try_acquire("held all the time"));
}

// Also run with a wall clock that jumps (tests/wall_clock.cmake), where only the shard's floor keeps the promise.
TEST_F(memory_store_test, tokens_rise_across_forgetting) {
    const auto locks = join();
    token last{};
    for (int round = 0; round < 20; ++round) {
        {
            const hold mine = locks->acquire("n");
            EXPECT_GT(mine.token(), last) << round;
            last = mine.token();
        }
        sim_.advance(base::ended_claim::remembered_for);
        use_fresh_names(*locks, std::to_string(round) + " ", 200);
    }
    EXPECT_LE(table_->names(), 300u) << "so the name was forgotten in between";
}

// What a quorum has raised may be ahead of the wall clock, which then does not help.
TEST_F(memory_store_test, a_raised_token_outlives_that_its_name_is_forgotten) {
    const auto locks = join();
    hold mine = locks->acquire("n", {.lease = 1h, .kept_by = kept_by::lease});
    const spi::token_memory memory =
        table_->recall({.what = spi::recall_request::change::restore, .version = table_->recall({}).version});
    const std::uint64_t ahead = mine.token().counter() + 3'600'000'000;
    ASSERT_EQ(table_->raise({.name = "n", .id = mine.id(), .to = ahead, .version = memory.version}).is,
              spi::raise_answer::verdict::raised);
    ASSERT_EQ(mine.release(), release_result::released);
    for (int round = 0; round < 3; ++round) {
        sim_.advance(base::ended_claim::remembered_for);
        use_fresh_names(*locks, std::to_string(round) + " ", 200);
    }
    EXPECT_GT(locks->acquire("n").token().counter(), ahead);
}

TEST_F(memory_store_test, an_expiry_wakes_the_waiter_at_that_very_moment) {
    const auto locks = join();
    const auto others = join();
    hold mine = locks->acquire("n", silent(10s));
    const auto end = sim_.clock().now() + 10s;
    const auto waiter = start(*others);
    sim_.advance(10s - 1ns);
    EXPECT_FALSE(waiter->answer);
    sim_.advance(1s);
    ASSERT_TRUE(waiter->answer && *waiter->answer);
    EXPECT_EQ(waiter->at, end) << "by the table's timer, not by a later look";
    EXPECT_GT((*waiter->answer)->token(), mine.token());
    EXPECT_EQ(mine.release(), release_result::taken_over);
}

TEST_F(memory_store_test, an_expiry_wakes_the_waiter_also_when_the_client_that_kept_the_time_is_gone) {
    const auto holder = join();
    auto timekeeper = join();
    const auto others = join();
    const hold mine = holder->acquire("n", silent(10s));
    const auto end = sim_.clock().now() + 10s;
    const auto first = start(*timekeeper);  // the one that found out when to look again
    const auto second = start(*others);
    sim_.advance(5s);
    timekeeper.reset();
    sim_.settle();
    ASSERT_TRUE(first->answer);
    EXPECT_EQ(first->answer->reason(), errc::closed);
    sim_.advance(6s);
    ASSERT_TRUE(second->answer && *second->answer);
    EXPECT_EQ(second->at, end);
}

TEST_F(memory_store_test, a_detached_claim_outlives_its_client_until_its_lease_ends) {
    const auto others = join();
    {
        const auto script = join();
        static_cast<void>(script->acquire("n", {.lease = 60s, .kept_by = kept_by::lease, .label = "nightly"}));
    }
    sim_.advance(60s - 1ns);
    const attempt refused = others->try_acquire("n");
    ASSERT_FALSE(refused);
    ASSERT_TRUE(refused.refusal().holder);
    EXPECT_EQ(refused.refusal().holder->label, "nightly");
    EXPECT_EQ(refused.refusal().holder->held_for, 60s - 1ns);
    EXPECT_GT(refused.refusal().holder->pid, 0);
    sim_.advance(1ns);
    EXPECT_TRUE(others->try_acquire("n"));
}

TEST_F(memory_store_test, a_detached_claim_is_released_by_its_id_from_another_client) {
    const auto others = join();
    const auto script = join();
    const claim_id id = script->acquire("n", {.lease = 60s, .kept_by = kept_by::lease}).id();
    const auto waiter = start(*others);
    EXPECT_FALSE(waiter->answer);
    std::error_code ec;
    EXPECT_EQ(others->release("n", id, ec), release_result::released);
    sim_.settle();
    EXPECT_TRUE(waiter->answer && *waiter->answer);
}

TEST_F(memory_store_test, list_tells_who_holds_what_sorted_by_name) {
    const auto locks = join();
    const auto others = join();
    const hold b = locks->acquire("b", {.label = "second"});
    const hold n = locks->acquire("n", {.label = "last"});
    const hold ended = locks->acquire("ended", silent(1s));
    const hold a = others->acquire("a", {.label = "first"});
    const auto waiter = start(*others);
    sim_.advance(1s);

    const std::vector<spi::listed> all = table_->list();
    ASSERT_EQ(all.size(), 3u) << "what has expired is not held";
    const char* names[] = {"a", "b", "n"};
    const char* labels[] = {"first", "second", "last"};
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].name, names[i]);
        EXPECT_EQ(all[i].holder.label, labels[i]);
        EXPECT_EQ(all[i].holder.held_for, 1s);
        EXPECT_EQ(all[i].capacity, 1u);
        EXPECT_EQ(all[i].weight, 1u);
    }
    EXPECT_EQ(all[0].waiting, 0u);
    EXPECT_EQ(all[2].waiting, 1u);
}

TEST_F(memory_store_test, a_broken_hold_is_lost_to_its_owner_and_the_next_has_a_higher_token) {
    const auto locks = join();
    const auto others = join();
    const hold mine = locks->acquire("n");
    const auto waiter = start(*others);
    EXPECT_FALSE(table_->break_hold("n", mine.token().counter() + 1));
    EXPECT_TRUE(mine.valid());
    EXPECT_TRUE(table_->break_hold("n", mine.token().counter()));
    sim_.settle();
    EXPECT_FALSE(mine.valid());
    ASSERT_TRUE(waiter->answer && *waiter->answer);
    EXPECT_GT((*waiter->answer)->token().counter(), mine.token().counter() + 1);
}

// Real threads: clients come, lock, wait and go in the middle of each other's hand-overs.
TEST(memory_store_threads, clients_may_close_while_others_are_served) {
    const auto shared = std::make_shared<memory_table>([] { return boot_clock::now(); });
    const std::uint64_t rounds = scale(100);
    std::atomic<std::uint64_t> held = 0;
    {
        std::vector<std::jthread> crowd;
        for (int t = 0; t < 4; ++t)
            crowd.emplace_back([&, t] {
                for (std::uint64_t i = 0; i < rounds; ++i) {
                    client mine = spi::make_client(open(shared));
                    const std::string name = i % 2 == 0 ? "even" : "odd";
                    mine.start({.name = name}, [&](attempt got) { held += got ? 1 : 0; });
                    if ((i + static_cast<unsigned>(t)) % 3 != 0)
                        continue;  // closed while it waits, or holds, or neither
                    if (const attempt got = mine.try_acquire(name, {.wait = 2ms, .order = order::fifo})) ++held;
                }
            });
    }
    EXPECT_GT(held, 0u);
    client after = spi::make_client(open(shared));
    EXPECT_TRUE(after.try_acquire("even")) << "nobody left anything behind";
    EXPECT_TRUE(after.try_acquire("odd"));
    EXPECT_TRUE(shared->list().empty());
}

}  // namespace
}  // namespace mortise::stores::memory
