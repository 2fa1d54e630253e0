// A million acquisitions of one name by sixteen threads: nobody meets anybody, and everybody is served in turn.
#include "checker/history/audit.hpp"
#include "checker/history/overlap.hpp"
#include "core/engine.hpp"
#include "support/broken_store.hpp"
#include "support/fair_share.hpp"
#include "support/waiting.hpp"

#include <mortise/mutex.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/fixture.hpp>

#include <array>
#include <atomic>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

constexpr int threads = 16;

void together(const std::function<void(int)>& work) {
    std::vector<std::thread> crew;
    for (int i = 0; i < threads; ++i) crew.emplace_back(work, i);
    for (std::thread& one : crew) one.join();
}

// With all clients alive, and nobody wants anything any more.
void expect_nothing_left(const std::string& url, const std::vector<const client*>& clients) {
    for (const auto& one : spi::plain_fixtures()) {
        if (one->store() != "memory") continue;
        const audit_verdict found = audit(
            std::chrono::seconds{2}, [&] { return one->records_at(url); }, [&] { return admitted_by(clients); });
        EXPECT_TRUE(found.innocent()) << found.describe();
        EXPECT_TRUE(one->records_at(url).empty());
        EXPECT_TRUE(admitted_by(clients).empty());
    }
}

TEST(million, acquisitions_by_sixteen_threads_never_overlap) {
    client locks{"memory:million"};
    overlap_checker inside;
    std::uint64_t plain = 0;  // not atomic: the lock itself must make this right
    const std::uint64_t each = scale(1'000'000) / threads + 1;

    together([&](int) {
        mutex mine{locks, "one"};
        for (std::uint64_t n = 0; n < each; ++n) {
            std::scoped_lock guard{mine};
            inside.enter(mine.hold().token());
            ++plain;
            inside.leave();
        }
    });

    EXPECT_EQ(inside.overlaps(), 0u);
    EXPECT_EQ(inside.token_disorders(), 0u);
    EXPECT_EQ(plain, each * threads);
    expect_nothing_left("memory:million", {&locks});
    std::cout << "million: acquisitions=" << inside.entries() << " overlaps=" << inside.overlaps()
              << " token_disorders=" << inside.token_disorders() << "\n";
}

TEST(million, the_same_check_convicts_a_store_without_exclusion) {
    client locks = spi::make_client(broken(spi::factory_of("memory:specimen")));
    overlap_checker inside;
    together([&](int) {
        for (std::uint64_t n = 0; n < 20'000 && inside.overlaps() == 0; ++n) {
            const hold mine = locks.acquire("one", {.hand_over = hand_over::off});
            inside.enter(mine.token());
            std::this_thread::yield();
            inside.leave();
        }
    });
    EXPECT_GT(inside.overlaps(), 0u);
}

// Two clients, so that the store's own queue is at work too.
TEST(million, clients_that_share_a_store_never_overlap) {
    client here{"memory:two"};
    client there{"memory:two"};
    overlap_checker inside;
    const std::uint64_t each = scale(200'000) / threads + 1;
    together([&](int i) {
        mutex mine{i % 2 == 0 ? here : there, "one"};
        for (std::uint64_t n = 0; n < each; ++n) {
            std::scoped_lock guard{mine};
            inside.enter(mine.hold().token());
            inside.leave();
        }
    });
    EXPECT_EQ(inside.overlaps(), 0u);
    EXPECT_EQ(inside.token_disorders(), 0u);
    expect_nothing_left("memory:two", {&here, &there});
}

// The order of arrival is only certain if drawing a ticket and standing in line are one step, so a small mutex is held
// across the start of the claim. Served strictly in that order, by hand-over and by the store's queue alike.
void expect_fifo(const claim_options& options, std::uint64_t rounds) {
    client locks{"memory:fifo"};
    const auto engine = core::access::engine_of(locks);
    fifo_checker order;
    std::mutex at_the_door;
    std::array<std::atomic<int>, threads> answers{};  // to each thread
    together([&](int i) {
        std::atomic<int>& answered = answers[static_cast<std::size_t>(i)];
        for (std::uint64_t n = 0; n < rounds / threads + 1; ++n) {
            const int before = answered;
            std::optional<attempt> got;
            std::uint64_t ticket = 0;
            {
                std::scoped_lock guard{at_the_door};
                ticket = order.draw();
                engine->start({.name = "one", .options = options}, [&](attempt answer) {
                    got.emplace(std::move(answer));
                    ++answered;
                    answered.notify_one();
                });
            }
            answered.wait(before);
            order.served(ticket);
        }
    });
    EXPECT_EQ(order.inversions(), 0u);
    EXPECT_GE(order.served(), rounds);
    expect_nothing_left("memory:fifo", {&locks});
    std::cout << "fifo: served=" << order.served() << " inversions=" << order.inversions() << "\n";
}

TEST(million, waiters_are_served_in_order_of_arrival) {
    expect_fifo({}, scale(1'000'000));
}

TEST(million, a_demand_for_fifo_is_met_by_the_store_itself) {
    expect_fifo({.order = order::fifo}, scale(200'000));
}

}  // namespace
}  // namespace mortise::testing
