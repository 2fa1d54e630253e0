// A state as bytes: what comes back, and what is done with bytes that nobody wrote. That a restored state behaves like the
// saved one is shown by lock_state_property_test.cpp.
#include "base/lock_state.hpp"

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using base::effects;
using base::instant;
using base::kept_claim;
using base::lock_state;

const instant start{spi::time_point{1000s}, 5'000'000};

claim_id id(std::uint64_t n) {
    return {{n, 7}};
}

// Two holders, one of them detached, three waiters and some ids that ended.
lock_state a_busy_one() {
    const auto from = std::make_shared<const base::whereabouts>(base::whereabouts{"web-3", 4711});
    lock_state state;
    effects out;
    for (std::uint64_t n = 1; n <= 8; ++n) {
        kept_claim wanted{.id = id(n), .session = 1 + n % 3, .detached = n == 4, .from = from, .label = "nightly"};
        if (n != 2) wanted.lease = 30s;
        state.claim(wanted, 2, true, start, out);
        if (n <= 3) state.release(id(n), 1 + n % 3, start, out);
    }
    return state;
}

TEST(lock_state_bytes, come_back_as_they_were) {
    const lock_state state = a_busy_one();
    const std::string bytes = state.save(start.now);
    const lock_state again = lock_state::restore(bytes);
    EXPECT_EQ(again.save(start.now), bytes);
    ASSERT_EQ(again.holders().size(), 2u);
    EXPECT_EQ(again.waiting(), 3u);
    EXPECT_EQ(again.next_end(), start.now + 30s);
    EXPECT_TRUE(again.holders()[0].detached);
    EXPECT_EQ(again.holders()[0].describe(start.now).describe(), state.holders()[0].describe(start.now).describe());
}

TEST(lock_state_bytes, leave_out_ids_that_are_forgotten) {
    lock_state state;
    effects out;
    state.claim({.id = id(1)}, 1, false, start, out);
    state.release(id(1), 0, start, out);
    const std::string fresh = state.save(start.now);
    const std::string later = state.save(start.now + lock_state::remembered_for);
    EXPECT_LT(later.size(), fresh.size());
    EXPECT_EQ(lock_state::restore(later).last_counter(), state.last_counter());
    EXPECT_TRUE(lock_state::restore(later).forgettable(start.now));
}

TEST(lock_state_bytes, that_are_cut_short_or_too_long_are_refused) {
    const std::string bytes = a_busy_one().save(start.now);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_THROW(lock_state::restore(std::string_view{bytes}.substr(0, size)), std::runtime_error) << size;
    EXPECT_THROW(lock_state::restore(bytes + '\0'), std::runtime_error);
}

// What a bit of a time or a label means cannot be checked, so some of these are taken; they must then serve, at least.
void use(std::string_view bytes) {
    try {
        lock_state state = lock_state::restore(bytes);
        effects out;
        state.settle(start, out);
        for (std::uint64_t n = 1; n <= 8; ++n) {
            state.claim({.id = id(n)}, 2, true, start, out);
            state.release(id(n), 1 + n % 3, start, out);
        }
        for (std::uint64_t session = 1; session <= 3; ++session) state.drop_session(session, start, out);
        for (std::uint64_t n = 20; n <= 60; ++n) state.release(id(n), 1 + n % 3, start, out);
        state.save(start.now);
    } catch (const std::runtime_error&) {
    }
}

TEST(lock_state_bytes, with_any_bit_flipped_are_refused_or_serve) {
    const std::string bytes = a_busy_one().save(start.now);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
        std::string flipped = bytes;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
        use(flipped);
    }
}

TEST(lock_state_bytes, with_any_word_replaced_are_refused_or_serve) {
    const std::string bytes = a_busy_one().save(start.now);
    for (const std::uint32_t value : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu})
        for (std::size_t at = 0; at + sizeof value <= bytes.size(); ++at) {
            std::string replaced = bytes;
            std::memcpy(replaced.data() + at, &value, sizeof value);
            use(replaced);
        }
}

TEST(lock_state_bytes, with_a_claim_that_waits_twice_are_refused) {
    std::string bytes = a_busy_one().save(start.now);
    const claim_id one = id(7);
    const claim_id other = id(8);
    const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&one), sizeof one));
    ASSERT_NE(at, std::string::npos);
    std::memcpy(bytes.data() + at, &other, sizeof other);
    EXPECT_THROW(lock_state::restore(bytes), std::runtime_error);
}

}  // namespace
}  // namespace mortise::testing
