// A client keeps an idle lock for a while (claim_options::keep) on a store that has no word for it, and gives it up when the store
// says that somebody else asks.
#include "base/kinds.hpp"
#include "fleet.hpp"
#include "support/announcing_store.hpp"
#include "support/seeds.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <barrier>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class kept_idle : public ::testing::Test {
protected:
    struct keeper : member {
        announcing_store* store;
    };
    keeper join(keep kept = keep::idle(50ms)) {
        client_options options = fleet::quick();
        options.keep = kept;
        auto net = std::make_shared<fault_plan>();
        auto seen = std::make_shared<recording_observer>();
        options.observer = seen;
        auto store = faulty(announcing(stores::memory::open(world.shared_table()), names), net);
        client made = spi::make_client(store, world.sim().world(), std::move(options));
        return {{net, seen, std::move(made)}, names->latest};
    }
    static std::uint64_t asked(const member& who) {
        return who.net->calls(verb::claim) + who.net->calls(verb::renew) + who.net->calls(verb::release);
    }
    template <class Mutex>
    static token once(Mutex& m) {
        EXPECT_TRUE(m.try_lock());
        const token mine = m.hold().token();
        EXPECT_TRUE(m.hold().valid());
        std::error_code ec;
        m.unlock(ec);
        EXPECT_FALSE(ec);
        return mine;
    }

    static token once_reading(shared_mutex& m) {
        EXPECT_TRUE(m.try_lock_shared());
        const token mine = m.hold().token();
        EXPECT_TRUE(m.hold().valid());
        std::error_code ec;
        m.unlock_shared(ec);
        EXPECT_FALSE(ec);
        return mine;
    }

    fleet world;
    std::shared_ptr<kept_names> names = std::make_shared<kept_names>();
    keeper mine = join();
    keeper other = join();
};

TEST_F(kept_idle, is_taken_again_without_a_request) {
    mutex m{mine.locks, "x"};
    const token first = once(m);
    for (std::uint64_t turn = 1; turn <= 100; ++turn) {
        EXPECT_EQ(once(m), token::of(first.counter(), turn));
        world.advance(10ms);
    }
    EXPECT_EQ(asked(mine), 1u);
    EXPECT_EQ(mine.seen->count(event_kind::released), 101u);
}

TEST_F(kept_idle, is_given_back_after_a_while) {
    mutex m{mine.locks, "x"};
    once(m);
    world.advance(49ms);
    EXPECT_FALSE(world.empty());
    world.advance(2ms);
    EXPECT_TRUE(world.empty());
    EXPECT_EQ(mine.net->calls(verb::release), 1u);
    once(m);
    for (int i = 0; i < 20; ++i) {  // the while begins anew with each unlock
        world.advance(30ms);
        once(m);
    }
    EXPECT_EQ(mine.net->calls(verb::claim), 2u);
    world.advance(51ms);
    EXPECT_TRUE(world.empty());
    EXPECT_EQ(mine.seen->count(event_kind::lost), 0u);
}

TEST_F(kept_idle, in_use_is_held_for_as_long_as_it_takes) {
    mutex m{mine.locks, "x"};
    once(m);
    ASSERT_TRUE(m.try_lock());
    world.advance(5min);
    EXPECT_TRUE(m.hold().valid());
    m.unlock();
    EXPECT_TRUE(world.empty()) << "what was renewed is given back";
}

TEST_F(kept_idle, in_use_again_and_again_goes_back_each_time_it_is_renewed) {
    names->silent = true;
    mutex m{mine.locks, "x", {.lease = 3s}};
    shared_mutex r{mine.locks, "y", {.lease = 3s}};
    std::set<std::uint64_t> grants;
    std::set<std::uint64_t> reads;
    for (int i = 0; i < 500; ++i) {
        ASSERT_TRUE(m.try_lock());
        ASSERT_TRUE(r.try_lock_shared());
        world.advance(19ms);
        grants.insert(m.hold().token().counter());
        reads.insert(r.hold().token().counter());
        m.unlock();
        r.unlock_shared();
        world.advance(1ms);
    }
    EXPECT_THAT(grants.size(), ::testing::AllOf(::testing::Ge(4u), ::testing::Le(20u))) << "of ten seconds";
    EXPECT_THAT(reads.size(), ::testing::AllOf(::testing::Ge(4u), ::testing::Le(20u)));
}

TEST_F(kept_idle, goes_at_once_to_whoever_waits) {
    mutex m{mine.locks, "x"};
    const token first = once(m);
    call waiting(other.locks, "x");
    world.settle();
    ASSERT_TRUE(waiting.granted());
    EXPECT_GT(waiting.hold().token(), first);
    EXPECT_EQ(names->told, 1u);
    EXPECT_FALSE(m.try_lock());
}

TEST_F(kept_idle, goes_to_who_does_not_wait) {
    mutex ours{mine.locks, "x"};
    mutex theirs{other.locks, "x"};
    once(ours);
    once(theirs);
}

TEST_F(kept_idle, in_use_refuses_who_does_not_wait_a_moment_later) {
    mutex m{mine.locks, "x"};
    once(m);
    ASSERT_TRUE(m.try_lock());
    call tries(other.locks, "x", {.wait = 0s});
    world.settle();
    EXPECT_FALSE(tries.answered());
    world.advance(21ms);
    EXPECT_EQ(tries.reason(), errc::busy);
    EXPECT_EQ(tries.refusal().holder->token.counter(), m.hold().token().counter());
    call gone(other.locks, "x", {.wait = 0s});
    m.unlock();
    world.advance(21ms);
    EXPECT_TRUE(gone.granted());
}

TEST_F(kept_idle, in_use_refuses_who_does_not_wait_beside_one_that_does) {
    mutex m{mine.locks, "x"};
    ASSERT_TRUE(m.try_lock());
    call tries(other.locks, "x", {.wait = 0s});
    call waits(other.locks, "x");
    world.advance(30ms);
    EXPECT_EQ(tries.reason(), errc::busy);
    EXPECT_FALSE(waits.answered());
    m.unlock();
    world.settle();
    EXPECT_TRUE(waits.granted());
}

TEST_F(kept_idle, in_use_refuses_who_does_not_wait_though_the_store_falls_silent) {
    mutex m{mine.locks, "x"};
    ASSERT_TRUE(m.try_lock());
    call tries(other.locks, "x", {.wait = 0s});
    other.net->lose_requests(verb::claim, 1000);
    world.advance(3s);
    EXPECT_EQ(tries.reason(), errc::busy);
}

TEST_F(kept_idle, in_use_goes_with_its_next_unlock) {
    mutex m{mine.locks, "x"};
    once(m);
    ASSERT_TRUE(m.try_lock());
    call waiting(other.locks, "x");
    world.settle();
    EXPECT_FALSE(waiting.answered());
    EXPECT_TRUE(m.hold().valid());
    m.unlock();
    world.settle();
    EXPECT_TRUE(waiting.granted());
}

TEST_F(kept_idle, goes_even_if_nobody_says_that_it_is_wanted) {
    names->silent = true;
    mutex m{mine.locks, "x"};
    once(m);
    call waiting(other.locks, "x");
    world.advance(49ms);
    EXPECT_FALSE(waiting.answered());
    world.advance(2ms);
    EXPECT_TRUE(waiting.granted());
}

TEST_F(kept_idle, is_none_while_others_want_the_lock) {
    mutex m{mine.locks, "x"};
    once(m);
    {
        call waiting(other.locks, "x");
        world.settle();
        ASSERT_TRUE(waiting.granted());
        waiting.hold().release();
    }
    once(m);
    EXPECT_TRUE(world.empty());  // twenty times as long as it is kept
    world.advance(900ms);
    once(m);
    EXPECT_TRUE(world.empty());
    world.advance(101ms);
    once(m);
    EXPECT_FALSE(world.empty());
}

TEST_F(kept_idle, is_not_kept_if_somebody_asked_before_the_grant_arrived) {
    std::optional<call> waiting;
    names->before_an_answer = [&] { waiting.emplace(other.locks, "x"); };
    mutex m{mine.locks, "x"};
    ASSERT_TRUE(m.try_lock());
    EXPECT_FALSE(waiting->answered());
    m.unlock();
    world.settle();
    EXPECT_TRUE(waiting->granted());
    EXPECT_EQ(names->told, 1u);
}

TEST_F(kept_idle, is_not_renewed) {
    mine = join(keep::idle(60s));
    mutex m{mine.locks, "x"};
    const token first = once(m);
    world.advance(9s);
    EXPECT_FALSE(world.empty());
    EXPECT_EQ(once(m).counter(), first.counter());
    world.advance(2s);
    EXPECT_EQ(mine.net->calls(verb::renew), 0u);
    EXPECT_TRUE(world.empty());
}

TEST_F(kept_idle, ends_with_its_lock_and_with_its_client) {
    {
        mutex m{mine.locks, "x"};
        once(m);
    }
    EXPECT_THAT(world.table().records(), IsEmpty());
    mutex m{mine.locks, "x"};
    once(m);
    { const keeper gone = std::move(mine); }
    EXPECT_THAT(world.table().records(), IsEmpty());
    std::error_code ec;
    EXPECT_FALSE(m.try_lock(ec));
    EXPECT_EQ(ec, errc::closed);
}

TEST_F(kept_idle, that_is_broken_is_not_taken_again) {
    mutex m{mine.locks, "x"};
    const token first = once(m);
    std::error_code ec;
    EXPECT_TRUE(other.locks.break_lock("x", first, "", ec));
    world.settle();
    EXPECT_EQ(mine.seen->count(event_kind::lost), 0u) << "nobody was inside";
    EXPECT_GT(once(m).counter(), first.counter());
    ASSERT_TRUE(m.try_lock());
    EXPECT_TRUE(other.locks.break_lock("x", m.hold().token(), "", ec));
    world.settle();
    EXPECT_FALSE(m.hold().valid());
    EXPECT_EQ(mine.seen->count(event_kind::lost), 1u);
    m.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
}

TEST_F(kept_idle, whose_lease_is_over_is_not_taken_again) {
    mutex m{mine.locks, "x", {.lease = 100ms, .keep = keep::idle(60s)}};
    const token first = once(m);
    mine.net->lose_requests(verb::release, 1000);
    world.advance(1s);
    EXPECT_GT(once(m).counter(), first.counter());
}

TEST_F(kept_idle, is_given_back_if_the_store_was_away) {
    mutex m{mine.locks, "x", {.keep = keep::idle(60s)}};
    once(m);
    ASSERT_TRUE(m.try_lock());
    mutex idle{mine.locks, "y", {.keep = keep::idle(60s)}};
    once(idle);
    mine.store->reconnected();
    world.advance(1ms);
    EXPECT_FALSE(world.empty());
    EXPECT_TRUE(world.free("y"));
    EXPECT_TRUE(m.hold().valid());
    m.unlock();  // somebody may have asked in vain for this one too
    EXPECT_TRUE(world.empty());
}

TEST_F(kept_idle, makes_room_for_a_reader_and_a_fair_one_of_its_own_client) {
    shared_mutex m{mine.locks, "x"};
    ASSERT_TRUE(m.try_lock());
    m.unlock();
    EXPECT_TRUE(m.try_lock_shared());
    m.unlock_shared();
    EXPECT_TRUE(shared_mutex(mine.locks, "z", {.keep = keep::idle()}).try_acquire_shared());
    mutex plain{mine.locks, "y"};
    mutex fair{mine.locks, "y", {.order = order::fifo}};
    const token first = once(plain);
    EXPECT_GT(once(fair), first);
}

TEST_F(kept_idle, reads_are_taken_again_without_a_request) {
    shared_mutex m{mine.locks, "x"};
    shared_mutex theirs{other.locks, "x"};
    const token first = once_reading(m);
    const token second = once_reading(theirs);
    EXPECT_GT(second, first) << "a grant of its own";
    for (std::uint64_t turn = 1; turn <= 100; ++turn) {
        EXPECT_EQ(once_reading(m), token::of(first.counter(), turn));
        EXPECT_EQ(once_reading(theirs), token::of(second.counter(), turn));
        world.advance(10ms);
    }
    EXPECT_EQ(asked(mine), 1u);
    EXPECT_EQ(asked(other), 1u);
    EXPECT_EQ(names->told, 0u) << "they do not disturb each other";
    world.advance(51ms);
    EXPECT_TRUE(world.empty());
}

TEST_F(kept_idle, reads_go_to_a_writer_who_waits) {
    shared_mutex m{mine.locks, "x"};
    shared_mutex theirs{other.locks, "x"};
    once_reading(m);
    once_reading(theirs);
    ASSERT_TRUE(theirs.try_lock_shared());
    constexpr std::uint32_t whole = base::shared_capacity;
    call writes(mine.locks, claim{.name = "x", .capacity = whole, .weight = whole, .options = {.wait = 1min}});
    world.settle();
    EXPECT_FALSE(writes.answered()) << "somebody reads";
    EXPECT_EQ(names->told, 2u);
    theirs.unlock_shared();
    world.settle();
    ASSERT_TRUE(writes.granted());
    EXPECT_TRUE(writes.hold().valid());
    EXPECT_FALSE(m.try_lock_shared());
    EXPECT_FALSE(theirs.try_lock_shared());
}

TEST_F(kept_idle, reads_go_to_a_writer_who_does_not_wait) {
    shared_mutex ours{mine.locks, "x"};
    shared_mutex theirs{other.locks, "x"};
    once_reading(ours);
    once_reading(theirs);
    once(theirs);  // its own read went, too
    once_reading(theirs);
    EXPECT_EQ(other.net->calls(verb::claim), 4u) << "a contested lock is not kept";
}

TEST_F(kept_idle, as_many_reads_as_were_inside_together) {
    shared_mutex m{mine.locks, "x"};
    const auto together = [&] {
        std::vector<std::thread> readers;
        std::barrier inside{20};
        std::mutex one_by_one;  // the clock of this world is for one thread
        for (int i = 0; i < 20; ++i)
            readers.emplace_back([&] {
                {
                    const std::scoped_lock guard{one_by_one};
                    EXPECT_TRUE(m.try_lock_shared());
                }
                inside.arrive_and_wait();
                const std::scoped_lock guard{one_by_one};
                EXPECT_TRUE(m.hold().valid());
                m.unlock_shared();
            });
        for (std::thread& one : readers) one.join();
    };
    together();
    world.settle();
    EXPECT_EQ(mine.net->calls(verb::claim), 20u);
    EXPECT_EQ(mine.net->calls(verb::release), 4u) << "more than there is room for";
    together();
    EXPECT_EQ(mine.net->calls(verb::claim), 24u);
    world.advance(51ms);
    EXPECT_TRUE(world.empty());
}

TEST_F(kept_idle, a_kept_read_is_not_what_a_writer_takes) {
    shared_mutex m{mine.locks, "x"};
    once_reading(m);
    EXPECT_TRUE(m.try_lock()) << "its own client's read goes";
    EXPECT_EQ(mine.net->calls(verb::release), 1u);
    m.unlock();
    EXPECT_TRUE(m.try_lock_upgradeable());
    m.unlock_upgradeable();
    EXPECT_EQ(mine.net->calls(verb::release), 3u) << "neither is kept: it was contested, and that is no read";
}

TEST_F(kept_idle, is_what_an_option_says) {
    EXPECT_THROW(mutex(mine.locks, "x", {.keep = keep::idle(999us)}), error);
    EXPECT_THROW(mutex(mine.locks, "x", {.keep = keep::idle(61s)}), error);
    for (const claim_options& never : {claim_options{.renew = renew::off, .keep = keep::idle()},
                                       claim_options{.order = order::fifo, .keep = keep::idle()},
                                       claim_options{.kept_by = kept_by::lease, .keep = keep::idle()},
                                       claim_options{.hand_over = hand_over::off, .keep = keep::idle()}}) {
        std::error_code ec;
        try {
            mutex(mine.locks, "x", never);
        } catch (const error& e) {
            ec = e.code();
        }
        EXPECT_EQ(ec, errc::invalid_option);
    }
    mutex off{mine.locks, "off", {.keep = keep::off()}};
    once(off);
    mutex fair{mine.locks, "fair", {.order = order::fifo}};  // the client's keep is for those that can
    once(fair);
    EXPECT_TRUE(world.empty());
}

// Members lock, unlock and look away at random, while requests and announcements are lost; nobody is ever inside with another,
// tokens rise, and in the end the lock is free.
TEST_F(kept_idle, excludes_and_ends_whatever_is_lost) {
    names->says_kept = false;  // time stands still while somebody tries
    const auto wrong = first_complaint(300, [&](std::uint64_t seed) -> std::optional<std::string> {
        std::mt19937_64 dice(seed);
        const auto roll = [&](unsigned sides) { return static_cast<unsigned>(dice() % sides); };
        const std::string name = "random " + std::to_string(seed);
        std::vector<keeper> members;
        std::vector<std::unique_ptr<mutex>> locks;
        for (int i = 0; i < 3; ++i) {
            members.push_back(join(keep::idle(std::chrono::milliseconds{1 + roll(200)})));
            locks.push_back(std::make_unique<mutex>(members.back().locks, name, claim_options{.lease = 1s}));
        }
        std::optional<std::size_t> inside;
        token latest;
        std::error_code ec;
        for (int step = 0; step < 120; ++step) {
            const std::size_t who = roll(3);
            if (inside && *inside != who) {
                call probe(members[who].locks, name, {.wait = 0s, .lease = 1s});
                world.advance(21ms);
                if (probe.granted() && probe.hold().valid() && locks[*inside]->hold().valid())
                    return "two are inside at step " + std::to_string(step);
            }
            if (inside) {
                locks[*inside]->unlock(ec);
                inside.reset();
            } else if (locks[who]->try_lock(ec)) {
                const token now = locks[who]->hold().token();
                if (now <= latest) return "a token did not rise at step " + std::to_string(step);
                latest = now;
                inside = who;
            }
            switch (roll(8)) {
                case 0:
                    members[roll(3)].net->lose_requests(verb::release);
                    break;
                case 1:
                    members[roll(3)].net->lose_replies(verb::release);
                    break;
                case 2:
                    names->silent = roll(2) == 0;
                    break;
                case 3:
                    members[roll(3)].store->reconnected();
                    break;
                default:
                    world.advance(std::chrono::milliseconds{roll(60)});
            }
        }
        if (inside) locks[*inside]->unlock(ec);
        for (const keeper& one : members) one.net->heal();
        world.advance(5s);
        if (!world.free(name)) return "it is not free in the end";
        return {};
    });
    EXPECT_FALSE(wrong) << *wrong;
}

}  // namespace
}  // namespace mortise::testing
