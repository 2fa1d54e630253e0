// The state of a name in the ledger: death at any instruction, and long queues. Its rules: named_state_property_test.cpp.
#include "stores/host/named_state.hpp"

#include "stores/host/ledger_access.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/children.hpp"
#include "support/shared_page.hpp"
#include "support/waiting.hpp"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::milestone;
using mortise::testing::scale;
using mortise::testing::scratch_directory;

class named_state_test : public ::testing::Test {
protected:
    std::shared_ptr<ledger> open() const { return open_ledger({scratch_.path(), true}); }
    scratch_directory scratch_;
};

// Killed at any instruction: whoever comes next finds every claim whole, in one place, and every block accounted for; and
// what the dead one had been told is still true.
TEST_F(named_state_test, survives_the_death_of_its_writer_at_any_moment) {
    const auto kept = open();
    struct told {
        std::atomic<std::uint64_t> granted;  // the highest counter it was granted
        std::atomic<std::uint64_t> old;      // a hold that is being replaced; 0: none is
        std::atomic<std::uint64_t> fresh;    // and by what
        std::atomic<std::uint64_t> exchanges;
    };
    const mortise::testing::shared_page<told> said;
    std::minstd_rand dice{4711};
    const std::uint64_t deaths = scale(1000);
    std::uint64_t inside = 0;
    std::uint64_t claims = 0;
    std::uint64_t caught = 0;  // in the middle of an exchange
    for (std::uint64_t n = 0; n < deaths; ++n) {
        milestone started;
        child writer{[&] {
            const auto own = open();
            std::minstd_rand rolls{static_cast<unsigned>(n) + 1};
            std::uint64_t last = n << 32;
            while (true) {
                const std::string name = "name" + std::to_string(rolls() % 5);
                base::effects out;
                ledger_access in{*own};
                named_state state{in, name};
                const base::instant at{spi::time_point{1000s + std::chrono::milliseconds(last & 0xffff)}, 1};
                base::kept_claim wanted{.id = {{++last, 7}},
                                        .session = 1 + rolls() % 4,
                                        .weight = static_cast<std::uint32_t>(1 + rolls() % 3),
                                        .label = "a label of some length"};
                if (rolls() % 3 == 0) wanted.lease = 50ms;
                switch (rolls() % 7) {
                    default:
                        state.claim(wanted, 3, true, at, out);
                        break;
                    case 2:
                    case 3:
                        if (const block_number held = state.first_holder(); held && state.at(held).ends > at.now) {
                            wanted.instead_of = state.at(held).id;
                            said->fresh = wanted.id.bits[0];
                            said->old = wanted.instead_of.bits[0];
                            state.claim(wanted, 3, rolls() % 2 == 0, at, out);
                            ++said->exchanges;
                        }
                        break;
                    case 0:
                        if (const block_number held = state.first_holder())
                            state.release(state.at(held).id, 1, at, out);
                        break;
                    case 1:
                        state.drop_session(1 + rolls() % 4, at, out);
                        break;
                }
                state.finish();
                said->granted = in.last_counter();
                said->old = 0;
                if ((last & 0xffffffff) == 20) started.reach();
            }
            return 0;
        }};
        started.await();
        std::this_thread::sleep_for(std::chrono::microseconds{dice() % 2000});
        writer.kill();
        const auto begun = std::chrono::steady_clock::now();
        ledger_access in{*kept};
        if (std::chrono::steady_clock::now() - begun > 1ms) ++inside;  // it had to be replaced as the lock's owner
        ASSERT_EQ(find_damage(in), "") << "after death " << n;
        ASSERT_GE(in.last_counter(), said->granted);
        // Of a hold and its successor there is always one and never two.
        std::uint64_t of_the_two = 0;
        std::vector<claim_id> held;
        in.each([&](block_number name) {
            ASSERT_LE(in.name(name).used, 3u) << "after death " << n;
            held.clear();
            for (block_number c = in.name(name).holders.first; c != 0; c = in.claim(c).next, ++claims) {
                ASSERT_GT(in.claim(c).counter, 0u);
                held.push_back(in.claim(c).id);
                of_the_two += held.back().bits[0] == said->old || held.back().bits[0] == said->fresh ? 1 : 0;
            }
            for (block_number c = in.name(name).holders.first; c != 0; c = in.claim(c).next)
                ASSERT_EQ(std::count(held.begin(), held.end(), in.claim(c).instead_of), 0) << "after death " << n;
            for (block_number c = in.name(name).queue.first; c != 0; c = in.claim(c).next, ++claims)
                ASSERT_EQ(in.claim(c).counter, 0u);
        });
        if (said->old == 0) continue;
        ++caught;
        ASSERT_EQ(of_the_two, 1u) << "after death " << n;
        said->old = 0;
    }
    EXPECT_GT(claims, deaths);
    EXPECT_GT(said->exchanges, deaths);
    if (deaths >= 500) {
        EXPECT_GT(caught, 0u);
    }
    std::cout << "named_state: deaths=" << deaths << " inside=" << inside << " exchanges=" << said->exchanges
              << " in_an_exchange=" << caught << " claims_seen=" << claims << " broken=0\n";

    ledger_access in{*kept};
    for (int i = 0; i < 5; ++i) {
        named_state state{in, "name" + std::to_string(i)};
        base::effects out;
        for (std::uint64_t session = 1; session <= 4; ++session)
            state.drop_session(session, {spi::time_point{5000s}, 1}, out);
        state.finish();
    }
    EXPECT_EQ(kept->blocks_in_use(), 0u);
}

TEST_F(named_state_test, a_long_queue_is_left_from_the_middle_without_a_search) {
    const auto kept = open();
    base::effects out;
    const base::instant at{spi::time_point{1000s}, 1};
    constexpr std::uint64_t crowd = 5000;
    std::vector<block_number> where(crowd);
    for (std::uint64_t n = 0; n < crowd; ++n) {
        ledger_access in{*kept};
        named_state state{in, "x"};
        const base::verdict got = state.claim({.id = {{n + 1, 7}}, .session = 1}, 1, true, at, out);
        EXPECT_EQ(got.place, n);
        where[n] = state.hint();
        state.finish();
    }
    for (std::uint64_t n = crowd; n-- > 1;) {
        ledger_access in{*kept};
        named_state state{in, "x", where[n]};
        ASSERT_EQ(state.find_waiter({{n + 1, 7}}), where[n]);
        ASSERT_EQ(state.release({{n + 1, 7}}, 1, at, out), spi::release_answer::released);
        state.finish();
    }
    ledger_access in{*kept};
    named_state state{in, "x"};
    EXPECT_EQ(state.waiting(), 0u);
    EXPECT_EQ(state.find_waiter({{7, 7}}), 0u) << "a hint that is out of date does no harm";
}

}  // namespace
}  // namespace mortise::stores::host
