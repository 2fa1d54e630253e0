// Grants that their client keeps after an unlock, by a word in the file. The tests swap words as a client would.
#include "base/grant_words.hpp"
#include "core/io_clock.hpp"
#include "stores/host/fixture.hpp"
#include "stores/host/ledger_access.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/open_ledgers.hpp"
#include "stores/host/own_claims.hpp"
#include "support/host_suite.hpp"
#include "support/shared_page.hpp"
#include "support/waiting.hpp"

#include <mortise/spi/client.hpp>

#include <atomic>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;
using enum spi::claim_answer::verdict;
using w = spi::grant_word;

// A grant, and the mark that its word had then.
struct kept : spi::grant {
    kept() = default;
    kept(const spi::grant& given)  // NOLINT(google-explicit-constructor)
        : spi::grant(given), mark(given.word != nullptr ? spi::grant_word::mark_of(given.word->value.load()) : 0) {}
    std::uint64_t mark = 0;
};

bool swap(const kept& mine, w::condition from, w::condition to) {
    std::uint64_t expected = w::of(mine.mark, 0, from);
    return mine.word->value.compare_exchange_strong(expected, w::of(mine.mark, 0, to));
}
bool unlock(const kept& mine) {
    return swap(mine, w::busy, w::idle);
}
bool lock_again(const kept& mine) {
    return swap(mine, w::idle, w::busy);
}
std::uint64_t word_of(const kept& mine, w::condition is) {
    return w::of(mine.mark, 0, is);
}

// --- through the store ------------------------------------------------------------------------------------------------

class kept_grants : public host_suite {
protected:
    // A store without a client in front of it, which would give back what it did not ask for.
    struct party final : spi::events {
        explicit party(const std::string& url)
            : here(spi::factory_of(url)(spi::context{clock, *this, "here", ::getpid()})) {}
        ~party() override {
            clock.stop();
            here->close();
        }
        void granted(std::string_view, const claim_id&, const spi::grant&) override {}
        void lost(std::string_view, const claim_id&) override { ++losses; }
        spi::store& store() { return *here; }

        spi::claim_answer claim(spi::claim_request wanted) {
            spi::claim_answer said;
            wanted.keeps = true;
            store().claim(wanted, [&](spi::claim_answer answer) { said = std::move(answer); });
            return said;
        }
        spi::grant grant(const std::string& name) {
            last = claim_id::random();
            const spi::claim_answer said = claim({.name = name, .id = last});
            EXPECT_EQ(said.is, spi::claim_answer::verdict::granted) << said.detail;
            EXPECT_TRUE(said.grant.word);
            return said.grant;
        }
        spi::release_answer release(const std::string& name, const claim_id& id) {
            spi::release_answer said{};
            store().release(name, id, [&](spi::release_answer answer) { said = answer; });
            return said;
        }
        std::vector<spi::listed> list() {
            spi::listing said;
            store().list([&](spi::listing all) { said = std::move(all); });
            return said.holds;
        }

        std::atomic<int> losses{0};
        core::io_clock clock;
        std::unique_ptr<spi::store> here;
        claim_id last{};
    };

    party one_{url_};
    party other_{url_};
};

TEST_F(kept_grants, one_that_is_idle_is_taken_by_the_next_who_asks) {
    const kept mine = one_.grant("x");
    EXPECT_EQ(mine.word->value, word_of(mine, w::busy));
    ASSERT_TRUE(unlock(mine));
    ASSERT_TRUE(lock_again(mine));
    ASSERT_TRUE(unlock(mine));
    const kept its = other_.grant("x");
    EXPECT_GT(its.counter, mine.counter);
    EXPECT_FALSE(lock_again(mine));
    EXPECT_EQ(one_.release("x", one_.last), spi::release_answer::released) << "it was over as if released";
    EXPECT_EQ(one_.claim({.name = "x", .id = claim_id::random()}).is, busy);
}

TEST_F(kept_grants, one_in_use_is_wanted_by_who_waits_and_not_by_who_only_tries) {
    const kept mine = one_.grant("x");
    EXPECT_EQ(other_.claim({.name = "x", .id = claim_id::random()}).is, busy);
    EXPECT_EQ(mine.word->value, word_of(mine, w::busy));
    const claim_id waits = claim_id::random();
    EXPECT_EQ(other_.claim({.name = "x", .id = waits, .queue = true}).is, queued);
    EXPECT_EQ(mine.word->value, word_of(mine, w::wanted));
    EXPECT_FALSE(unlock(mine));
    EXPECT_EQ(one_.release("x", one_.last), spi::release_answer::released);
    EXPECT_EQ(mine.word->value, word_of(mine, w::gone));
    const spi::claim_answer its = other_.claim({.name = "x", .id = waits, .queue = true});
    ASSERT_EQ(its.is, granted);
    EXPECT_EQ(its.grant.word->value, word_of(its.grant, w::busy));
    EXPECT_TRUE(unlock(its.grant));
}

TEST_F(kept_grants, one_that_was_waited_for_is_wanted_if_others_wait_still) {
    const kept mine = one_.grant("x");
    ASSERT_TRUE(mine.word);
    const claim_id second = claim_id::random();
    EXPECT_EQ(other_.claim({.name = "x", .id = second, .queue = true}).is, queued);
    EXPECT_EQ(other_.claim({.name = "x", .id = claim_id::random(), .queue = true}).is, queued);
    EXPECT_EQ(one_.release("x", one_.last), spi::release_answer::released);
    const spi::claim_answer its = other_.claim({.name = "x", .id = second, .queue = true});
    ASSERT_EQ(its.is, granted);
    EXPECT_EQ(its.grant.word->value, word_of(its.grant, w::wanted));
}

TEST_F(kept_grants, the_next_one_in_the_same_block_has_another_mark) {
    const kept mine = one_.grant("x");
    ASSERT_TRUE(unlock(mine));
    std::set<std::uint64_t> marks{mine.mark};
    int in_the_same_block = 0;
    for (int n = 0; n < 100; ++n) {
        const kept its = other_.grant("x");
        EXPECT_TRUE(marks.insert(its.mark).second);
        in_the_same_block += its.word == mine.word;
        EXPECT_FALSE(lock_again(mine));
        EXPECT_FALSE(unlock(mine));
        EXPECT_TRUE(unlock(its));
    }
    EXPECT_GT(in_the_same_block, 0);
}

TEST_F(kept_grants, only_an_exclusive_claim_without_a_lease_that_asks_for_it_has_a_word) {
    const auto has_word = [&](const spi::claim_request& wanted) {
        const spi::claim_answer said = one_.claim(wanted);
        EXPECT_EQ(said.is, granted);
        EXPECT_EQ(one_.release("y", wanted.id), spi::release_answer::released);
        return said.grant.word != nullptr;
    };
    EXPECT_TRUE(has_word({.name = "y", .id = claim_id::random()}));
    EXPECT_TRUE(has_word({.name = "y", .id = claim_id::random(), .capacity = 7, .weight = 7}));
    EXPECT_FALSE(has_word({.name = "y", .id = claim_id::random(), .capacity = 7, .weight = 6}));
    EXPECT_FALSE(has_word({.name = "y", .id = claim_id::random(), .lease = 10s}));
    EXPECT_FALSE(has_word({.name = "y", .id = claim_id::random(), .lease = 10s, .kept_by = kept_by::lease}));

    const kept mine = one_.grant("x");
    const claim_id follows = claim_id::random();
    const spi::claim_answer exchanged = one_.claim({.name = "x", .id = follows, .instead_of = one_.last});
    ASSERT_EQ(exchanged.is, granted);
    EXPECT_FALSE(exchanged.grant.word);
    EXPECT_EQ(mine.word->value, word_of(mine, w::gone));
}

TEST_F(kept_grants, one_that_is_idle_is_in_no_other_kinds_way) {
    const kept mine = one_.grant("x");
    EXPECT_EQ(other_.claim({.name = "x", .id = claim_id::random(), .capacity = 5}).reason, errc::kind_mismatch);
    ASSERT_TRUE(unlock(mine));
    EXPECT_EQ(other_.claim({.name = "x", .id = claim_id::random(), .capacity = 5}).is, granted);
    EXPECT_FALSE(lock_again(mine));
}

TEST_F(kept_grants, one_that_is_idle_is_on_record_and_not_listed) {
    const kept mine = one_.grant("x");
    EXPECT_EQ(one_.list().size(), 1u);
    ASSERT_TRUE(unlock(mine));
    EXPECT_TRUE(one_.list().empty());
    EXPECT_TRUE(other_.list().empty());
    const auto records = records_in(directory_);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].id, one_.last);
    EXPECT_TRUE(records[0].holds);
    EXPECT_EQ(find_damage(*open_ledger({directory_, true})), "");
    ASSERT_TRUE(lock_again(mine));
    EXPECT_EQ(other_.list().size(), 1u);
}

TEST_F(kept_grants, one_that_is_locked_again_is_held_since_then) {
    const kept mine = one_.grant("x");
    std::this_thread::sleep_for(50ms);
    const auto held_for = [&] { return other_.list().at(0).holder.held_for; };
    EXPECT_GE(held_for(), 50ms);
    const spi::time_point now = boot_clock::now();
    mine.word->since = now.time_since_epoch().count();
    const auto since_then = held_for();
    EXPECT_LE(since_then, boot_clock::now() - now);
    mine.word->since = INT64_MAX;
    EXPECT_EQ(held_for(), 0ns);
    mine.word->since = INT64_MIN;
    EXPECT_GE(held_for(), 50ms);
}

TEST_F(kept_grants, one_that_is_broken_is_over_for_its_owner) {
    const kept mine = one_.grant("x");
    spi::break_answer said{};
    other_.store().break_hold({.name = "x", .counter = mine.counter}, [&](spi::break_answer answer) { said = answer; });
    EXPECT_EQ(said, spi::break_answer::broken);
    EXPECT_FALSE(unlock(mine));
    EXPECT_TRUE(eventually([&] { return one_.losses == 1; }));
    other_.grant("x");
    EXPECT_EQ(one_.release("x", one_.last), spi::release_answer::taken_over);
}

TEST_F(kept_grants, that_others_took_are_forgotten_some_time) {
    for (int n = 0; n < 1000; ++n) {
        ASSERT_TRUE(unlock(one_.grant("x")));
        ASSERT_TRUE(unlock(other_.grant("x")));
    }
    EXPECT_GT(one_.losses, 900);
    EXPECT_LT(one_.losses, 1000);
}

TEST_F(kept_grants, one_of_a_client_that_leaves_is_free) {
    std::optional<party> leaving{std::in_place, url_};
    const kept mine = leaving->grant("x");
    leaving.reset();
    EXPECT_EQ(mine.word->value, word_of(mine, w::gone));
    other_.grant("x");
}

TEST_F(kept_grants, one_that_a_stopped_process_keeps_idle_keeps_nobody_out) {
    child keeps{[&] {
        party own{url_};
        const kept mine = own.grant("x");
        if (!unlock(mine)) return 1;
        ::raise(SIGSTOP);
        return lock_again(mine) ? 2 : 0;
    }};
    ASSERT_TRUE(keeps.stopped());
    const kept its = other_.grant("x");
    keeps.tell(SIGCONT);
    EXPECT_EQ(keeps.wait(), 0);
    EXPECT_EQ(its.word->value, word_of(its, w::busy));
}

TEST_F(kept_grants, one_of_a_killed_process_is_free_whatever_its_word_says) {
    for (const w::condition last : {w::busy, w::idle, w::wanted, w::gone}) {
        child keeps{[&] {
            party own{url_};
            const kept mine = own.grant("x");
            mine.word->value = word_of(mine, last);
            ::raise(SIGKILL);
            return 0;
        }};
        ASSERT_EQ(keeps.wait(), -SIGKILL);
        const kept its = other_.grant("x");
        EXPECT_EQ(its.word->value, word_of(its, w::busy));
        EXPECT_EQ(other_.release("x", other_.last), spi::release_answer::released);
    }
}

TEST_F(kept_grants, are_told_to_be_lost_when_the_files_are_gone) {
    const kept mine = one_.grant("x");
    ASSERT_TRUE(unlock(mine));
    std::filesystem::rename(directory_, directory_ + ".old");
    EXPECT_TRUE(eventually([&] { return one_.losses == 1; }));
    EXPECT_FALSE(lock_again(mine));
}

TEST(own_claims_with_words, that_others_took_are_found_once_there_are_many) {
    own_claims ours;
    std::vector<std::shared_ptr<w>> words;
    const auto add = [&] {
        const std::uint64_t n = words.size() + 1;
        words.push_back(std::make_shared<w>());
        words.back()->value = w::of(w::mark_of(claim_id{{n, 7}}), 0, w::busy);
        ours.note({.name = "x", .id = {{n, 7}}}, 1, false, {.word = words.back().get()});
    };
    for (int n = 0; n < 63; ++n) add();
    for (std::size_t n = 1; n < words.size(); ++n)
        words[n]->value = w::of(w::mark_of(claim_id{{n + 1, 7}}), 0, w::gone);
    words[5]->value = w::of(1000, 0, w::busy);  // of another claim by now
    EXPECT_TRUE(ours.taken().empty());
    add();
    const auto over = ours.taken();
    EXPECT_EQ(over.size(), 62u);
    for (const auto& [id, known] : over) ours.forget(id);
    EXPECT_TRUE(ours.find({{1, 7}}));
    EXPECT_TRUE(ours.find({{64, 7}}));
    EXPECT_TRUE(ours.taken().empty());
}

// --- in the file ------------------------------------------------------------------------------------------------------

class kept_grants_in_file : public ::testing::Test {
protected:
    static constexpr base::instant at{spi::time_point{1000s}, 1};
    static base::kept_claim wants(std::uint64_t n) { return {.id = {{n, 7}}, .session = n, .keeps = true}; }

    std::shared_ptr<ledger> open() const { return open_ledger({scratch_.path(), true}); }

    base::verdict claim(std::uint64_t n, bool queue = false) {
        ledger_access in{*kept_};
        named_state state{in, "x"};
        base::verdict said = state.claim(wants(n), 1, queue, at, out_);
        state.finish();
        return said;
    }

    scratch_directory scratch_;
    const std::shared_ptr<ledger> kept_ = open();
    base::effects out_;
};

TEST_F(kept_grants_in_file, who_takes_an_idle_one_and_dies_before_the_commit_leaves_a_free_lock) {
    const kept mine = claim(1).grant;
    ASSERT_TRUE(unlock(mine));
    child taker{[&] {
        const auto own = open();
        ledger_access in{*own};
        base::take_if_idle(*mine.word, {{1, 7}});
        ::raise(SIGKILL);
        return 0;
    }};
    ASSERT_EQ(taker.wait(), -SIGKILL);
    {
        ledger_access in{*kept_};
        named_state state{in, "x"};
        ASSERT_NE(state.find_holder({{1, 7}}), 0u) << "it was removed";
        EXPECT_TRUE(state.at(state.find_holder({{1, 7}})).over());
        EXPECT_EQ(find_damage(in), "");
    }
    EXPECT_FALSE(lock_again(mine));
    EXPECT_EQ(claim(3).is, granted);
    EXPECT_EQ(claim(1).reason, errc::cancelled) << "it has ended, and is not granted once more";
    ASSERT_EQ(out_.lost.size(), 1u);
    EXPECT_EQ(out_.lost[0].id, (claim_id{{1, 7}}));
}

// The break was to be: whoever comes next completes it, and tells its owner.
TEST_F(kept_grants_in_file, who_ends_one_in_use_and_dies_before_the_commit_is_completed) {
    const kept mine = claim(1).grant;
    EXPECT_EQ(claim(2, true).is, queued);
    child breaker{[&] {
        const auto own = open();
        ledger_access in{*own};
        named_state state{in, "x"};
        base::effects out;
        state.break_hold(mine.counter, at, out);
        base::end_word(*mine.word, {{1, 7}});  // as commit() does first
        ::raise(SIGKILL);
        return 0;
    }};
    ASSERT_EQ(breaker.wait(), -SIGKILL);
    ledger_access in{*kept_};
    named_state state{in, "x"};
    state.settle(at, out_);
    ASSERT_EQ(out_.lost.size(), 1u);
    EXPECT_EQ(out_.lost[0].id, (claim_id{{1, 7}}));
    ASSERT_EQ(out_.granted.size(), 1u);
    EXPECT_EQ(out_.granted[0].id, (claim_id{{2, 7}}));
    EXPECT_TRUE(out_.granted[0].grant.word);
    EXPECT_EQ(state.release({{1, 7}}, 1, at, out_), spi::release_answer::taken_over) << "it was broken, not released";
    state.finish();
    EXPECT_EQ(find_damage(in), "");
}

TEST_F(kept_grants_in_file, what_is_undone_leaves_the_word_of_one_in_use) {
    const kept mine = claim(1).grant;
    const auto undone = [&](auto&& verb) {
        ledger_access in{*kept_};
        named_state state{in, "x"};
        verb(state);
    };
    undone([&](named_state& state) { state.break_hold(mine.counter, at, out_); });
    undone([&](named_state& state) { state.drop_session(1, at, out_); });
    undone([&](named_state& state) { state.release({{1, 7}}, 9, at, out_); });
    undone([&](named_state& state) {
        base::kept_claim follows = wants(2);
        follows.instead_of = {{1, 7}};
        EXPECT_EQ(state.claim(follows, 1, false, at, out_).is, granted);
    });
    EXPECT_EQ(mine.word->value, word_of(mine, w::busy));
    EXPECT_EQ(claim(3).is, busy);
    undone([&](named_state& state) { EXPECT_EQ(state.claim(wants(4), 1, true, at, out_).is, queued); });
    EXPECT_EQ(mine.word->value, word_of(mine, w::wanted)) << "harmless: it costs one release";
    EXPECT_EQ(claim(5).is, busy);
}

TEST_F(kept_grants_in_file, a_word_that_is_any_number_does_no_harm) {
    std::mt19937_64 dice{4711};
    for (int n = 1; n < 2000; ++n) {
        const kept mine = claim(static_cast<std::uint64_t>(n)).grant;
        if (!mine.word) continue;  // held for good until it is released
        mine.word->value = n % 2 != 0 ? dice() : w::of(mine.mark, dice() % 1024, w::condition(dice() % 4));
        mine.word->since = static_cast<std::int64_t>(dice());
        claim(1'000'000u + static_cast<std::uint64_t>(n), n % 3 == 0);
        ledger_access in{*kept_};
        named_state state{in, "x"};
        for (block_number b = state.first_holder(); b != 0; b = state.after(b))
            EXPECT_GE(state.describe(b, at.now).held_for, 0ns);
        for (std::uint64_t session : {std::uint64_t(n), 1'000'000u + std::uint64_t(n)})
            state.drop_session(session, at, out_);
        state.finish();
        ASSERT_EQ(find_damage(in), "");
    }
    EXPECT_EQ(kept_->blocks_in_use(), 0u);
}

// Processes that lock by words and under the ledger's lock, and are killed at any moment.
TEST_F(kept_grants_in_file, exclude_each_other_whoever_dies_at_any_moment) {
    struct counted {
        std::atomic<int> inside;
        std::atomic<std::uint64_t> owner;  // the process that is inside
        std::atomic<std::uint64_t> by_word;
        std::atomic<std::uint64_t> by_ledger;
        std::atomic<std::uint64_t> overlaps;
    };
    const shared_page<counted> all;
    const auto work = [&](unsigned seed) {
        const auto own = open();
        const std::uint64_t me = std::uint64_t{own->slots().mine().number} << 32 | own->slots().mine().term;
        std::minstd_rand dice{seed + 1};
        std::uint64_t last = std::uint64_t{seed} << 24;
        kept mine;
        while (true) {
            if (mine.word && lock_again(mine)) {
                ++all->by_word;
            } else {
                mine = {};
                const claim_id id{{++last, 7}};
                while (!mine.word) {
                    ledger_access in{*own};
                    named_state state{in, "x"};
                    base::effects out;
                    if (const block_number held = state.first_holder()) {
                        const std::uint64_t its = state.at(held).session;
                        if (!own->alive({static_cast<std::uint32_t>(its >> 32), static_cast<std::uint32_t>(its)}))
                            state.drop_session(its, at, out);
                    }
                    if (const block_number first = state.first_in_queue()) {
                        const std::uint64_t its = state.at(first).session;
                        if (!own->alive({static_cast<std::uint32_t>(its >> 32), static_cast<std::uint32_t>(its)}))
                            state.drop_session(its, at, out);
                    }
                    mine = state.claim({.id = id, .session = me, .keeps = true}, 1, seed % 2 == 0, at, out).grant;
                    state.finish();
                    if (!mine.word) std::this_thread::yield();
                }
                ++all->by_ledger;
            }
            // Whoever was inside and died is not inside any more.
            const std::uint64_t before = all->owner.exchange(me);
            if (before != 0 &&
                own->alive({static_cast<std::uint32_t>(before >> 32), static_cast<std::uint32_t>(before)}))
                ++all->overlaps;
            if (dice() % 4 == 0) std::this_thread::yield();
            std::uint64_t expected = me;
            if (!all->owner.compare_exchange_strong(expected, 0)) ++all->overlaps;
            if (unlock(mine)) {
                if (dice() % 16 == 0) std::this_thread::yield();
                continue;
            }
            ledger_access in{*own};
            named_state state{in, "x"};
            base::effects out;
            state.release({{last, 7}}, me, at, out);
            state.finish();
            mine = {};
        }
        return 0;
    };
    constexpr std::size_t processes = 3;
    std::minstd_rand dice{4711};
    std::vector<child> running;
    unsigned made = 0;
    for (std::size_t n = 0; n < processes; ++n) running.emplace_back([&] { return work(made); }), ++made;
    const std::uint64_t deaths = scale(400);
    for (std::uint64_t n = 0; n < deaths; ++n) {
        std::this_thread::sleep_for(std::chrono::microseconds{dice() % 6000});
        child& one = running[dice() % processes];
        one.kill();
        one = child{[&] { return work(made); }};
        ++made;
        if (n % 10 != 0) continue;
        ledger_access in{*kept_};
        ASSERT_EQ(find_damage(in), "") << "after death " << n;
    }
    const std::uint64_t before = all->by_ledger;
    EXPECT_TRUE(eventually([&] { return all->by_ledger > before; })) << "somebody is kept out";
    running.clear();
    EXPECT_EQ(all->overlaps, 0u);
    EXPECT_GT(all->by_word, 0u);
    std::cout << "kept_grants: deaths=" << deaths << " by_word=" << all->by_word << " by_ledger=" << all->by_ledger
              << " overlaps=" << all->overlaps << "\n";
}

}  // namespace
}  // namespace mortise::stores::host
