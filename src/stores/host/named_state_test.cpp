// The state of a name in the ledger: the same histories as for the one in memory, and death at any instruction.
#include "stores/host/named_state.hpp"

#include "base/lock_histories.hpp"
#include "support/children.hpp"

#include <atomic>
#include <iostream>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using mortise::testing::child;
using mortise::testing::flaw;
using mortise::testing::milestone;
using mortise::testing::scale;
using mortise::testing::scratch_directory;

// Each verb takes the ledger, does its work and leaves, as the store does.
class shared_state {
    template <class Verb>
    auto with(Verb&& verb) {
        ledger::access in{in_};
        named_state state{in, name_};
        auto said = verb(state);
        state.finish();
        return said;
    }

public:
    shared_state(ledger& in, std::string name) : in_(in), name_(std::move(name)) {}
    ~shared_state() {
        base::effects ignored;
        for (std::uint64_t session = 0; session < 5; ++session) drop_session(session, base::instant{}, ignored);
        while (!idle())
            for (const base::kept_claim& held : holders()) break_hold(held.counter, base::instant{}, ignored);
    }

    base::verdict claim(const base::kept_claim& c, std::uint32_t capacity, bool queue, base::instant at,
                        base::effects& out) {
        return with([&](named_state& s) { return s.claim(c, capacity, queue, at, out); });
    }
    auto renew(const claim_id& id, spi::duration lease, base::instant at, base::effects& out) {
        return with([&](named_state& s) { return s.renew(id, lease, at, out); });
    }
    auto release(const claim_id& id, std::uint64_t by, base::instant at, base::effects& out) {
        return with([&](named_state& s) { return s.release(id, by, at, out); });
    }
    bool break_hold(std::uint64_t counter, base::instant at, base::effects& out) {
        return with([&](named_state& s) { return s.break_hold(counter, at, out); });
    }
    void drop_session(std::uint64_t session, base::instant at, base::effects& out) {
        with([&](named_state& s) { return s.drop_session(session, at, out), 0; });
    }
    void settle(base::instant at, base::effects& out) {
        with([&](named_state& s) { return s.settle(at, out), 0; });
    }

    std::vector<base::kept_claim> holders() {
        return with([&](named_state& s) {
            std::vector<base::kept_claim> all;
            for (block_number n = s.first_holder(); n != 0; n = s.after(n)) all.push_back(s.at(n));
            return all;
        });
    }
    base::kept_claim first_waiting() {
        return with([&](named_state& s) { return s.at(s.first_in_queue()); });
    }
    std::size_t waiting() {
        return with([&](named_state& s) { return s.waiting(); });
    }
    std::uint32_t capacity() {
        return with([&](named_state& s) { return s.capacity(); });
    }
    std::uint64_t last_counter() {
        return with([&](named_state& s) { return s.last_counter(); });
    }
    spi::time_point next_end() {
        return with([&](named_state& s) { return s.next_end(); });
    }
    bool idle() {
        return with([&](named_state& s) { return s.idle(); });
    }

private:
    ledger& in_;
    const std::string name_;
};

class named_state_test : public ::testing::Test {
protected:
    std::shared_ptr<ledger> open() const { return ledger::open({scratch_.path(), true}); }
    scratch_directory scratch_;
};

TEST_F(named_state_test, agrees_with_the_naive_model_in_every_history) {
    const auto kept = open();
    const std::uint64_t histories = scale(25'000);
    for (std::uint64_t seed = 1; seed <= histories; ++seed) {
        {
            shared_state state{*kept, "name " + std::to_string(seed % 3)};
            const auto found = mortise::testing::histories::history(seed, state, flaw::none, 1000).run();
            ASSERT_FALSE(found) << "seed " << seed << "\n" << *found;
        }
        if (seed % 100 != 0) continue;
        ASSERT_EQ(kept->blocks_in_use(), 0u) << "seed " << seed;
        ASSERT_EQ(ledger::access{*kept}.problem(), "") << "seed " << seed;
    }
    std::cout << "named_state: histories=" << histories << " disagreements=0\n";
}

// Killed at any instruction: whoever comes next finds every claim whole, in one place, and every block accounted for; and
// what the dead one had been told is still true.
TEST_F(named_state_test, survives_the_death_of_its_writer_at_any_moment) {
    const auto kept = open();
    struct told {
        std::atomic<std::uint64_t> granted;   // the highest counter it was granted
        std::atomic<std::uint64_t> released;  // how many releases it was told of
    };
    milestone shared;
    auto* said = new (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) told{};
    std::minstd_rand dice{4711};
    const std::uint64_t deaths = scale(1000);
    std::uint64_t inside = 0;
    std::uint64_t claims = 0;
    for (std::uint64_t n = 0; n < deaths; ++n) {
        milestone started;
        child writer{[&] {
            const auto own = open();
            std::minstd_rand rolls{static_cast<unsigned>(n) + 1};
            std::uint64_t last = n << 32;
            while (true) {
                const std::string name = "name" + std::to_string(rolls() % 5);
                base::effects out;
                ledger::access in{*own};
                named_state state{in, name};
                const base::instant at{spi::time_point{1000s + std::chrono::milliseconds(last & 0xffff)}, 1};
                switch (rolls() % 5) {
                    default:
                        state.claim({.id = {{++last, 7}},
                                     .session = 1 + rolls() % 4,
                                     .weight = static_cast<std::uint32_t>(1 + rolls() % 3),
                                     .lease = rolls() % 3 == 0 ? std::optional<spi::duration>{50ms} : std::nullopt,
                                     .label = "a label of some length"},
                                    3, true, at, out);
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
                if ((last & 0xffffffff) == 20) started.reach();
            }
            return 0;
        }};
        started.await();
        std::this_thread::sleep_for(std::chrono::microseconds{dice() % 2000});
        writer.kill();
        const auto begun = std::chrono::steady_clock::now();
        ledger::access in{*kept};
        if (std::chrono::steady_clock::now() - begun > 1ms) ++inside;  // it had to be replaced as the lock's owner
        ASSERT_EQ(in.problem(), "") << "after death " << n;
        ASSERT_GE(in.last_counter(), said->granted);
        in.each([&](block_number name) {
            ASSERT_LE(in.name(name).used, 3u) << "after death " << n;
            for (block_number c = in.name(name).holders.first; c != 0; c = in.claim(c).next, ++claims)
                ASSERT_GT(in.claim(c).counter, 0u);
            for (block_number c = in.name(name).queue.first; c != 0; c = in.claim(c).next, ++claims)
                ASSERT_EQ(in.claim(c).counter, 0u);
        });
    }
    EXPECT_GT(claims, deaths);
    std::cout << "named_state: deaths=" << deaths << " inside=" << inside << " claims_seen=" << claims << " broken=0\n";
    ::munmap(said, 4096);

    ledger::access in{*kept};
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
        ledger::access in{*kept};
        named_state state{in, "x"};
        const base::verdict got = state.claim({.id = {{n + 1, 7}}, .session = 1}, 1, true, at, out);
        EXPECT_EQ(got.place, n);
        where[n] = state.hint();
        state.finish();
    }
    for (std::uint64_t n = crowd; n-- > 1;) {
        ledger::access in{*kept};
        named_state state{in, "x", where[n]};
        ASSERT_EQ(state.find_waiter({{n + 1, 7}}), where[n]);
        ASSERT_EQ(state.release({{n + 1, 7}}, 1, at, out), spi::release_answer::released);
        state.finish();
    }
    ledger::access in{*kept};
    named_state state{in, "x"};
    EXPECT_EQ(state.waiting(), 0u);
    EXPECT_EQ(state.find_waiter({{7, 7}}), 0u) << "a hint that is out of date does no harm";
}

}  // namespace
}  // namespace mortise::stores::host
