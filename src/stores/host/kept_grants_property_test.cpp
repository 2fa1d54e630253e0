// Random histories of clients that keep their grants: words that are swapped without the ledger's lock, between verbs that happen,
// fail or are cut off by a death. Nobody is ever inside beside another whose claim is not known to be lost.
//
// A failing history prints its seed and its steps; MORTISE_TEST_SEED=<seed> runs it alone.
#include "base/grant_words.hpp"
#include "base/history_steps.hpp"
#include "stores/host/ledger_access.hpp"
#include "stores/host/ledger_check.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/children.hpp"
#include "support/seeds.hpp"
#include "support/waiting.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;
using histories::dice;
using w = spi::grant_word;

// A grant, and the mark that its word had then.
struct granted_word : spi::grant {
    granted_word() = default;
    granted_word(const spi::grant& given)  // NOLINT(google-explicit-constructor)
        : spi::grant(given), mark(given.word != nullptr ? spi::grant_word::mark_of(given.word->value.load()) : 0) {}
    std::uint64_t mark = 0;
};
using is = spi::claim_answer::verdict;

struct tally {
    std::uint64_t relocks = 0;
    std::uint64_t taken = 0;  // while idle
    std::uint64_t slow_unlocks = 0;
    std::uint64_t hand_overs = 0;
    std::uint64_t failures = 0;
    std::uint64_t deaths = 0;  // of whoever had the ledger's lock
    std::uint64_t carried_through = 0;
    std::uint64_t breaks = 0;
};

class history {
public:
    history(ledger& in, std::uint64_t seed, tally& counted) : in_(in), dice_(seed), salt_(seed), counted_(counted) {}

    std::optional<std::string> run() {
        const std::uint64_t steps = 30 + dice_.below(60);
        for (std::uint64_t n = 0; n < steps && wrong_.empty(); ++n) step();
        if (wrong_.empty()) end();
        if (wrong_.empty()) return std::nullopt;
        return wrong_ + "\nafter" + log_.str();
    }

private:
    // Of one session each.
    struct party {
        std::uint64_t session = 0;
        claim_id id{};
        enum { out, waits, inside, keeps } is = out;
        granted_word mine{};
    };

    void step() {
        party& one = parties_[dice_.below(std::size(parties_))];
        switch (one.is) {
            case party::out:
                return dice_.one_in(6) ? meddle() : ask(one, !dice_.one_in(3));
            case party::waits:
                return dice_.one_in(6) ? leave(one) : ask(one, true);
            case party::inside:
                return dice_.one_in(12) ? drop(one) : dice_.one_in(6) ? release(one) : unlock(one);
            case party::keeps:
                return dice_.one_in(12) ? drop(one) : dice_.one_in(8) ? release(one) : lock_again(one);
        }
    }

    // --- what a client does by its word
    void unlock(party& one) {
        if (swap(one, w::busy, w::idle)) {
            note(one, "unlocks");
            one.is = party::keeps;
        } else {
            ++counted_.slow_unlocks;
            release(one);
        }
    }
    void lock_again(party& one) {
        if (swap(one, w::idle, w::busy)) {
            note(one, "locks again");
            ++counted_.relocks;
            enter(one);
        } else {
            note(one, "finds that it was taken");
            ++counted_.taken;
            one.is = party::out;
        }
    }
    static bool swap(party& one, w::condition from, w::condition to) {
        if (!one.mine.word) return false;
        std::uint64_t expected = w::of(one.mine.mark, 0, from);
        return one.mine.word->value.compare_exchange_strong(expected, w::of(one.mine.mark, 0, to));
    }

    // --- what the store does
    void ask(party& one, bool queue) {
        if (one.is == party::out) one.id = {{++last_id_, salt_}};
        base::kept_claim wanted{.id = one.id, .session = one.session, .keeps = true};
        if (one.is == party::out && dice_.one_in(8)) wanted.lease = 1h;  // without a word
        std::optional<base::verdict> got;
        note(one, queue ? "asks and waits" : "asks");
        if (!verb([&](named_state& s) { got = s.claim(wanted, 1, queue, at_, out_); })) return;
        switch (got->is) {
            case is::granted:
                one.mine = got->grant;
                return enter(one);
            case is::queued:
                one.is = party::waits;
                return;
            default:
                one.is = party::out;
        }
    }
    void leave(party& one) {
        note(one, "gives up");
        while (one.is == party::waits && !verb([&](named_state& s) { s.release(one.id, one.session, at_, out_); })) {
        }
        one.is = party::out;
    }
    void release(party& one) {
        note(one, "releases");
        one.is = party::keeps;  // whatever comes of it: it is not inside
        while (one.is == party::keeps && !verb([&](named_state& s) { s.release(one.id, one.session, at_, out_); })) {
        }
        one.is = party::out;
    }
    void drop(party& one) {  // dead, or about to be
        note(one, "dies");
        one.is = party::out;
        one.mine = {};
        while (!verb([&](named_state& s) { s.drop_session(one.session, at_, out_); })) {
        }
    }
    void meddle() {
        std::uint64_t counter = 0;
        {
            ledger_access in{in_};
            const named_state s{in, "x"};
            if (const block_number held = s.first_holder()) counter = s.at(held).counter;
        }
        if (counter == 0) return;
        log_ << "\n  somebody breaks " << counter;
        if (verb([&](named_state& s) { s.break_hold(counter, at_, out_); })) ++counted_.breaks;
    }

    // Mostly it happens. It may fail before the commit, or its process may be killed before: with the word ended, or not yet.
    template <class Verb>
    bool verb(Verb&& work) {
        out_ = {};
        const std::uint64_t fate = dice_.below(10);
        claim_id holds;
        {
            ledger_access in{in_};
            named_state state{in, "x"};
            const base::kept_claim before = holder(state);
            work(state);
            holds = holder(state).id;
            if (fate > 1) {
                state.finish();
            } else if (fate == 0) {
                log_ << " (fails)";
                ++counted_.failures;
            } else {
                log_ << " (killed)";
                ++counted_.deaths;
                // A client that dies is dropped; here another one died, in the same place.
                if (before.word && holds != before.id && dice_.one_in(2)) {
                    base::end_word(*before.word, before.id);
                    lose(before.id);
                }
            }
        }
        if (fate <= 1) return false;
        for (const auto& notice : out_.lost) {
            ++counted_.carried_through;
            lose(notice.id);
        }
        for (const auto& notice : out_.granted) {
            ++counted_.hand_overs;
            for (party& one : parties_)
                if (one.id == notice.id && holds == one.id) {  // not released again at once
                    one.mine = notice.grant;
                    enter(one);
                }
        }
        return true;
    }
    static base::kept_claim holder(const named_state& state) {
        const block_number first = state.first_holder();
        return first != 0 ? state.at(first) : base::kept_claim{};
    }

    // --- who is inside
    void lose(const claim_id& id) {
        for (party& one : parties_)
            if (one.id == id && one.is != party::out) {
                log_ << "\n  session " << one.session << " has lost";
                one.is = party::out;
            }
    }
    void enter(party& one) {
        note(one, "is inside");
        one.is = party::inside;
        const auto inside = std::count_if(std::begin(parties_), std::end(parties_),
                                          [](const party& each) { return each.is == party::inside; });
        if (inside != 1) wrong_ = std::to_string(inside) + " are inside";
        check_line();
    }

    // While somebody waits, the word of whoever holds says so.
    void check_line() {
        ledger_access in{in_};
        const named_state state{in, "x"};
        const base::kept_claim held = holder(state);
        if (state.waiting() == 0 || !held.word) return;
        const std::uint64_t seen = held.word->value;
        if (w::condition_of(seen) != w::wanted && w::condition_of(seen) != w::gone)
            wrong_ = "somebody waits, and the word does not say so";
    }

    // All leave, and nobody is kept out.
    void end() {
        const auto busy = [](const party& one) { return one.is == party::waits || one.is == party::inside; };
        while (std::any_of(std::begin(parties_), std::end(parties_), busy))
            for (party& one : parties_)
                if (one.is == party::waits) {
                    leave(one);
                } else if (one.is == party::inside) {
                    unlock(one);
                }
        ledger_access in{in_};
        named_state state{in, "x"};
        const auto got = state.claim({.id = {{++last_id_, salt_}}, .session = 99}, 1, false, at_, out_);
        if (got.is != is::granted) wrong_ = "somebody is kept out";
        for (const std::uint64_t session : {1u, 2u, 3u, 99u}) state.drop_session(session, at_, out_);
        state.finish();
    }

    void note(const party& one, const char* what) { log_ << "\n  session " << one.session << " " << what; }

    ledger& in_;
    dice dice_;
    const std::uint64_t salt_;
    tally& counted_;
    party parties_[3]{{.session = 1}, {.session = 2}, {.session = 3}};
    const base::instant at_{spi::time_point{1000s}, 1};
    base::effects out_;
    std::uint64_t last_id_ = 0;
    std::string wrong_;
    std::ostringstream log_;
};

TEST(kept_grants_property, exclude_each_other_in_every_history) {
    const scratch_directory scratch;
    const auto kept = open_ledger({scratch.path(), true});
    tally counted;
    const std::uint64_t count = scale(40'000);
    const auto found = first_complaint(count, [&](std::uint64_t seed) {
        const auto said = history(*kept, seed, counted).run();
        if (said || seed % 300 != 0) return said;
        const std::string damage = find_damage(*kept);
        if (!damage.empty()) return std::optional{damage};
        return kept->blocks_in_use() == 0 ? std::nullopt : std::optional<std::string>("blocks are left");
    });
    ASSERT_FALSE(found) << *found;
    std::cout << "kept_grants: histories=" << count << " relocks=" << counted.relocks << " taken=" << counted.taken
              << " slow_unlocks=" << counted.slow_unlocks << " hand_overs=" << counted.hand_overs
              << " breaks=" << counted.breaks << " failures=" << counted.failures << " deaths=" << counted.deaths
              << " carried_through=" << counted.carried_through << " overlaps=0\n";
    if (lone_seed() || count < 1000) return;
    for (const std::uint64_t some : {counted.relocks, counted.taken, counted.slow_unlocks, counted.hand_overs,
                                     counted.breaks, counted.failures, counted.deaths, counted.carried_through})
        EXPECT_GT(some, count / 20);
}

}  // namespace
}  // namespace mortise::stores::host
