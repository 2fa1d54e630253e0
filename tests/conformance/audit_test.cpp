// Every claim in a store belongs to a client that admits to it, and no lock is idle while somebody waits for it.
//
// make storms (MORTISE_STORMS_IN_FULL=1) does this for longer.
#include "checker/history/audit.hpp"

#include "conformance/suite.hpp"
#include "support/crowd.hpp"
#include "support/miserly_store.hpp"
#include "support/sanitizers.hpp"
#include "support/tapped_client.hpp"
#include "support/waiting.hpp"

#include <mortise/spi/client.hpp>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <latch>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using stage = spi::admitted_claim::stage;

class audits : public store_suite {
protected:
    std::vector<spi::stored_claim> stored() const { return GetParam().store->records_at(url()); }
    audit_verdict audited(const std::vector<const client*>& clients, std::chrono::nanoseconds bound) const {
        return audit(
            bound, [&] { return stored(); }, [&] { return admitted_by(clients); });
    }
    // Until that client waits for the name; if the store keeps a line, in the store.
    bool waits(const client& who, const std::string& name) const {
        return eventually([&] {
            for (const auto& one : stored())
                if (one.name == name && !one.holds) return true;
            for (const auto& one : spi::admitted(who))
                if (!can().fifo && one.name == name && one.is == stage::waiting) return true;
            return false;
        });
    }
};
EVERY_STORE(audits);

// A call that is given up just as it is asked for: claim and release come from two threads, in any order.
TEST_P(audits, find_nothing_of_a_claim_that_its_release_met) {
    constexpr int rounds = under_asan || under_tsan ? 40 : 200;
    struct round {
        explicit round(int n) : name(std::to_string(n)) {}
        const std::string name;
        const claim_id id = claim_id::random();
        std::atomic<bool> answered{false};
        std::atomic<bool> left{false};
    };
    tapped_client mine{store_at_url()};
    mine.locks().acquire("warm").release();
    for (int n = 0; n < rounds && !HasFailure(); ++n) {
        const auto now = std::make_shared<round>(n);
        std::latch together{2};
        std::thread releaser{[&] {
            together.arrive_and_wait();
            mine.store().release(now->name, now->id, [now](spi::release_answer) { now->left = true; });
        }};
        together.arrive_and_wait();
        mine.store().claim({.name = now->name, .id = now->id, .lease = 60s, .queue = n % 2 == 0},
                           [now](const spi::claim_answer&) { now->answered = true; });
        releaser.join();
        EXPECT_TRUE(eventually([&] { return now->answered && now->left; })) << n;
    }
    EXPECT_TRUE(eventually([&] { return stored().empty(); })) << stored().size() << " left";
}

TEST_P(audits, see_what_the_store_keeps_and_whose_it_is) {
    client locks = make_client();
    client others = make_client();
    EXPECT_TRUE(stored().empty());
    hold mine = locks.acquire("a/b %", {.lease = 60s});
    std::atomic<bool> granted{false};
    others.start({.name = "a/b %", .options = {.lease = 60s}}, [&](const attempt& got) { granted = bool(got); });
    ASSERT_TRUE(waits(others, "a/b %"));
    const auto holding = spi::admitted(locks);
    const auto waiting = spi::admitted(others);
    ASSERT_EQ(holding.size(), 1u);
    ASSERT_EQ(waiting.size(), 1u);
    EXPECT_EQ(waiting.front().is, stage::waiting);
    const auto all = stored();
    ASSERT_EQ(all.size(), can().fifo ? 2u : 1u);
    for (const auto& one : all) {
        EXPECT_EQ(one.name, "a/b %");
        EXPECT_EQ(one.id, one.holds ? holding.front().id : waiting.front().id);
    }
    if (can().fifo) {
        EXPECT_NE(all[0].holds, all[1].holds);
    }
    EXPECT_TRUE(audited({&locks, &others}, 10s).innocent());
    mine.release();
    EXPECT_TRUE(eventually([&] { return granted.load(); }));
    EXPECT_TRUE(eventually([&] { return stored().empty(); })) << "the hold was dropped";
}

TEST_P(audits, convict_a_store_that_keeps_what_was_released) {
    const auto inner = store_at_url();
    client locks = spi::make_client([&](const auto& outer) { return std::make_unique<miserly_store>(outer, inner); });
    client others = make_client();
    locks.acquire("x", {.lease = 60s}).release();
    others.start({.name = "x", .options = {.lease = 60s}}, [](const attempt&) {});
    ASSERT_TRUE(waits(others, "x"));
    const audit_verdict found = audited({&locks, &others}, 500ms);
    ASSERT_EQ(found.orphans.size(), 1u) << found.describe();
    EXPECT_TRUE(found.orphans.front().holds);
    EXPECT_EQ(found.idle, std::vector<std::string>{"x"});
}

TEST_P(audits, find_nothing_in_a_crowd_that_tries_waits_and_gives_up) {
    constexpr std::chrono::seconds lease = 4s;
    const bool in_full = std::getenv("MORTISE_STORMS_IN_FULL") != nullptr;
    crowd some{{.urls = std::vector<std::string>(3, url()),
                .lease = lease,
                .client = patient(),
                .open = [](const std::string& at, client_options options) {
                    return client_at(*GetParam().store, at, std::move(options));
                }}};
    const auto audited = [&] {
        return audit(
            lease + 2s, [&] { return stored(); }, [&] { return some.admitted(); });
    };
    audit_verdict busy;
    const auto begun = std::chrono::steady_clock::now();
    for (int round = 0; round < (in_full ? 20 : under_asan || under_tsan ? 1 : 3) && busy.innocent(); ++round) {
        std::this_thread::sleep_for(300ms);
        busy = audited();
    }
    EXPECT_TRUE(busy.innocent()) << "while they are at it: " << busy.describe();
    some.rest();
    const audit_verdict quiet = audited();
    EXPECT_TRUE(quiet.innocent()) << "afterwards: " << quiet.describe();
    EXPECT_TRUE(eventually([&] { return stored().empty(); })) << "nobody wants anything any more";
    std::cout << "audit: store=" << GetParam().name() << " granted=" << some.granted() << " refused=" << some.refused()
              << " orphans=" << busy.orphans.size() + quiet.orphans.size()
              << " idle=" << busy.idle.size() + quiet.idle.size()
              << " seconds=" << std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() << "\n";
    EXPECT_GT(some.granted(), 0u);
}

}  // namespace
}  // namespace mortise::testing
