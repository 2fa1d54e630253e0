// The rules of one name: which claims are granted and which wait, and everything that changes it.
//
// `memory:` and `host:` use these rules, and the other stores are tested against them. They are pure: no clock, no
// thread, no map of names, no I/O. Each call is given the current time and returns in `effects` who has to be notified.
//
//   - Claims are granted first come, first served, while their weights fit. A large claim at the head blocks smaller
//     ones behind it.
//   - A claim that replaces a hold (upgrade, downgrade) does so in one step. If it must wait it precedes the queue,
//     which the hold blocks anyway. A second one would deadlock with the first and is refused. If it is repeated
//     without `queue_up`, it leaves the queue in the same step in which it is answered busy; a separate release could
//     end a hold that the caller still has.
//   - The counter of a grant is max(last + 1, wall time in us). The first part makes it rise while the state lives, the
//     second after the state was lost.
//   - An exclusive grant may have a word (spi::grant_word), by which its client keeps it after an unlock. A hold that is removed
//     has its word ended first. A hold whose word has ended is over: who ended it may have died before he removed it.
//   - Ended claims are remembered for a while (ended_claims.hpp), so that a repeated release gets its first answer and
//     a claim that arrives after its own release is not granted.
//
// The rules do not know where the claims are kept: `Kept` derives from lock_rules<Kept> and provides the functions
// listed at the end of the class. lock_state.hpp keeps them in this process, stores/host/named_state.hpp in a file that
// processes share.
//
// To add a request: write a member function that first calls settle(), then changes holders or the queue, then grants.
#pragma once

#include "base/ended_claims.hpp"
#include "base/grant_words.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::base {

struct instant {
    spi::time_point now;
    std::uint64_t wall_us = 0;  // for tokens only; nothing else reads a wall clock

    static instant at(spi::time_point now);  // with the current wall clock
};

// The process of a claim, shown to callers that find the lock held; shared by all claims of a client.
struct whereabouts {
    std::string host;
    std::int64_t pid = 0;
};

// A claim as the state keeps it. `session` is its client: it is notified, and its claims end with it.
struct kept_claim {
    claim_id id{};
    std::uint64_t session = 0;
    std::uint32_t weight = 1;
    std::uint32_t wait_slot = 0;
    claim_id instead_of{};
    bool detached = false;
    bool keeps = false;  // its client would use a word
    std::optional<spi::duration> lease{};
    std::shared_ptr<const whereabouts> from{};
    std::string label{};

    // Once granted.
    std::uint64_t counter = 0;
    spi::time_point since{};
    spi::time_point ends = spi::time_point::max();
    spi::grant_word* word = nullptr;

    static kept_claim of(const spi::claim_request& wanted, std::uint64_t session,
                         std::shared_ptr<const whereabouts> from);

    bool replaces() const noexcept { return instead_of != claim_id{}; }

    // Its client may have taken it again since it was granted.
    spi::time_point since_now() const noexcept {
        if (!word) return since;
        return std::max(since, spi::time_point{spi::duration{word->since.load(std::memory_order_relaxed)}});
    }

    // The grant or its latest renewal.
    spi::time_point counted_from() const noexcept { return lease ? ends - *lease : since; }
    std::optional<spi::duration> left(spi::time_point now) const noexcept {
        return lease ? std::optional(ends - now) : std::nullopt;
    }
    spi::grant grant() const {
        return {.counter = counter, .lease = lease, .counted_from = counted_from(), .word = word};
    }
    bool idle() const noexcept { return word && is_idle(*word, id); }  // its client keeps it, and nobody is inside
    bool over() const noexcept { return word && is_gone(*word, id); }  // but its record is still there
    mortise::holder describe(spi::time_point now) const;
};

struct effects {
    struct notice {
        std::uint64_t session;
        claim_id id;
        spi::grant grant;
        std::uint32_t wait_slot = 0;
    };
    std::vector<notice> granted;  // queued claims that were granted
    std::vector<notice> lost;     // holds that were broken
};

struct verdict {
    struct obstacle {
        claim_id id;
        mortise::holder who;
    };
    spi::claim_answer::verdict is = spi::claim_answer::verdict::unknown;
    errc reason{};                         // when refused
    spi::grant grant{};                    // when granted
    std::optional<obstacle> in_the_way{};  // when busy or queued
    std::size_t place = 0;                 // when queued
    std::optional<spi::duration> free_in{};
    std::uint32_t capacity = 0;  // of the name, as it is in use

    spi::claim_answer answer(const spi::claim_request& wanted) &&;
};

template <class Kept>
class lock_rules {
public:
    base::verdict claim(kept_claim wanted, std::uint32_t capacity, bool queue_up, instant at, effects& out) {
        using is = spi::claim_answer::verdict;
        settle(at, out);
        if (const auto mine = kept().find_holder(wanted.id))  // a repeat: the same answer
            return {.is = is::granted, .grant = kept().at(mine).grant()};
        if (kept().remembered(wanted.id, at.now) != nullptr) return {.is = is::refused, .reason = errc::cancelled};
        if (!wanted.replaces()) call_in(false, at);
        if (!idle() && capacity != kept().capacity())
            return {.is = is::refused, .reason = errc::kind_mismatch, .capacity = kept().capacity()};
        if (const auto mine = kept().find_waiter(wanted.id)) {
            if (queue_up || !wanted.replaces()) return standing(is::queued, kept().place_of(mine), at);
            kept().leave(mine);  // it stops waiting, and knows that it was not granted
            remember(wanted.id, spi::release_answer::released, at.now);
            grant_next(at, out);
            return standing(is::busy, 1, at, wanted.instead_of);
        }
        if (wanted.replaces()) return exchange(std::move(wanted), queue_up, at, out);
        if (idle()) kept().begin(capacity);
        if (kept().waiting() == 0 && kept().used() + wanted.weight <= capacity) {
            grant_to(wanted, at);
            return {.is = is::granted, .grant = kept().hold(std::move(wanted))};
        }
        if (!queue_up) return standing(is::busy, kept().waiting() + 1, at);
        if (call_in(true, at)) return claim(std::move(wanted), capacity, queue_up, at, out);  // it has just become idle
        kept().enqueue(std::move(wanted));
        return standing(is::queued, kept().waiting(), at);
    }

    spi::renewal_answer renew(const claim_id& id, spi::duration lease, instant at, effects& out) {
        settle(at, out);
        const auto mine = kept().find_holder(id);
        if (!mine) return spi::renewal_answer::lost;
        const auto& held = kept().at(mine);
        if (held.lease && at.now + lease >= held.ends) kept().extend(mine, lease, at.now + lease);  // never shortens
        return spi::renewal_answer::renewed;
    }

    // By any session. If it is not the holder's own, the holder is notified that it lost the lock.
    spi::release_answer release(const claim_id& id, std::uint64_t by, instant at, effects& out) {
        settle(at, out);
        if (const auto mine = kept().find_holder(id)) {
            if (kept().at(mine).session != by) out.lost.push_back(notice_of(kept().at(mine)));
            kept().remove(mine);
        } else if (const auto waits = kept().find_waiter(id)) {
            kept().leave(waits);
        } else {
            if (ended_claim* old = kept().remembered(id, at.now)) {
                if (old->answer == ended_claim::not_asked) old->answer = static_cast<std::int64_t>(stranger_answer());
                return static_cast<spi::release_answer>(old->answer);
            }
            // Never seen, or forgotten. If its claim is still under way it must not be granted when it arrives.
            remember(id, stranger_answer(), at.now);
            return stranger_answer();
        }
        remember(id, spi::release_answer::released, at.now);
        grant_next(at, out);
        return spi::release_answer::released;
    }

    bool break_hold(std::uint64_t counter, instant at, effects& out) {
        settle(at, out);
        call_in(false, at);  // nobody holds it
        const auto found = kept().find_counter(counter);
        if (!found) return false;
        out.lost.push_back(notice_of(kept().at(found)));
        remember(kept().at(found).id, std::nullopt, at.now);
        kept().remove(found);
        kept().last_counter(kept().last_counter() + 1);
        grant_next(at, out);
        return true;
    }

    // Never to one that is not larger than the latest. A repeat gets the same answer.
    spi::raise_answer raise(const claim_id& id, std::uint64_t to, instant at, effects& out) {
        using enum spi::raise_answer::verdict;
        settle(at, out);
        const auto mine = kept().find_holder(id);
        if (!mine) return {.is = lost};
        if (kept().at(mine).counter == to) return {.is = raised};
        if (to <= kept().last_counter()) return {.is = not_larger, .largest = kept().last_counter()};
        kept().last_counter(to);
        kept().count(mine, to);
        return {.is = raised};
    }

    // Ends a session: its waiting claims leave the queue and its holds end, except detached ones. No requests about
    // these ids will follow, so none is remembered.
    void drop_session(std::uint64_t session, instant at, effects& out) {
        settle(at, out);
        kept().remove_if([&](const auto& held) { return held.session == session && !held.detached; });
        kept().leave_if([&](const auto& waits) { return waits.session == session; });
        grant_next(at, out);
    }

    // Ends holds that are over and grants what fits. Every request does this first.
    void settle(instant at, effects& out) {
        carry_through(at, out);
        if (at.now >= kept().next_end())
            kept().remove_if([&](const auto& held) {
                if (at.now < held.ends) return false;
                remember(held.id, std::nullopt, at.now);
                return true;
            });
        grant_next(at, out);
    }

    bool idle() const noexcept { return kept().waiting() == 0 && !kept().first_holder(); }

    // Holding or waiting.
    bool knows(const claim_id& id) const { return kept().find_holder(id) || kept().find_waiter(id); }

    // What Kept provides. A spot is the place of a claim: true if there is one, valid until the next change.
    //
    //   waiting(), used(), capacity(), next_end()   how many, how much weight is held, of how much, when the first lease ends
    //   begin(capacity)                             the name was idle and is no longer
    //   last_counter(), last_counter(n)             of the latest grant
    //   find_holder(id), find_counter(n), find_waiter(id), first_holder(), next_holder(spot) -> spot
    //   first_waiting() -> claim, at(spot) -> claim, has_word(spot), describe(spot, now) -> holder, place_of(spot)
    //   hold(claim) -> grant, enqueue(claim)        at the end of the holders, of the queue
    //   enqueue_first(claim)                        before the queue
    //   promote(counter, since) -> claim            the first in the queue holds
    //   extend(spot, lease, ends), remove(spot), leave(spot)
    //   count(spot, counter)                        of the holder, for stores that raise tokens
    //   remove_if(claim -> bool)                    of the holders, latest first
    //   leave_if(claim -> bool)                     of the queue
    //   remember(ended_claim, now), remembered(id, now) -> ended_claim*
    //   checkpoint()                                all is consistent; what comes next must happen as a whole

private:
    Kept& kept() noexcept { return static_cast<Kept&>(*this); }
    const Kept& kept() const noexcept { return static_cast<const Kept&>(*this); }

    base::verdict exchange(kept_claim wanted, bool queue_up, instant at, effects& out) {
        using is = spi::claim_answer::verdict;
        const claim_id old = wanted.instead_of;
        if (!kept().find_holder(old)) return {.is = is::refused, .reason = errc::lost};
        if (fits(wanted)) {
            kept().checkpoint();
            grant_to(wanted, at);
            const spi::grant given = kept().hold(std::move(wanted));
            take_the_place_of(old, at);
            grant_next(at, out);
            return {.is = is::granted, .grant = given};
        }
        if (kept().waiting() > 0 && kept().first_waiting().replaces())
            return {.is = is::refused, .reason = errc::would_deadlock};
        if (!queue_up) return standing(is::busy, 1, at, old);
        kept().enqueue_first(std::move(wanted));
        return standing(is::queued, 1, at, old);
    }

    bool fits(const auto& wanted) const {
        const auto old = wanted.replaces() ? kept().find_holder(wanted.instead_of) : decltype(kept().first_holder()){};
        return kept().used() - (old ? kept().at(old).weight : 0) + wanted.weight <= kept().capacity();
    }

    // A grant that its client keeps idle is over when somebody asks for the name: true. If he is about to wait, one in use is to
    // be released when it is no longer used.
    bool call_in(bool waits, instant at) {
        const auto first = kept().first_holder();  // what can be kept has the whole capacity
        if (!first || !kept().has_word(first)) return false;
        const auto& held = kept().at(first);
        if (!(waits ? take_or_want(*held.word, held.id) : take_if_idle(*held.word, held.id))) return false;
        remember(held.id, spi::release_answer::released, at.now);
        kept().remove(first);
        return true;
    }

    // What somebody began and did not live to finish. If he got as far as to remember the claim as ended, that is its end.
    void carry_through(instant at, effects& out) {
        const auto first = kept().first_holder();
        if (!first || !kept().has_word(first)) return;
        const auto& held = kept().at(first);
        if (!held.over()) return;
        out.lost.push_back(notice_of(held));
        if (kept().remembered(held.id, at.now) == nullptr) remember(held.id, spi::release_answer::released, at.now);
        kept().remove(first);
    }

    void take_the_place_of(const claim_id& old, instant at) {
        remember(old, spi::release_answer::released, at.now);
        kept().remove(kept().find_holder(old));
    }

    // `own`: a hold of the asking party, which is not in its way.
    base::verdict standing(spi::claim_answer::verdict is, std::size_t place, instant at, claim_id own = {}) const {
        base::verdict v{.is = is, .place = place};
        auto first = kept().first_holder();
        if (first && kept().at(first).id == own) first = kept().next_holder(first);
        if (first) v.in_the_way = {kept().at(first).id, kept().describe(first, at.now)};
        if (kept().next_end() != spi::time_point::max()) v.free_in = kept().next_end() - at.now;
        return v;
    }

    std::uint64_t next_counter(instant at) {
        kept().last_counter(std::max(kept().last_counter() + 1, at.wall_us));
        return kept().last_counter();
    }

    void grant_to(kept_claim& wanted, instant at) {
        wanted.counter = next_counter(at);
        wanted.since = at.now;
        wanted.ends = wanted.lease ? at.now + *wanted.lease : spi::time_point::max();
    }

    void grant_next(instant at, effects& out) {
        while (kept().waiting() > 0) {
            const auto& first = kept().first_waiting();
            if (first.replaces() && !kept().find_holder(first.instead_of)) {  // what it was to replace is gone
                out.lost.push_back(notice_of(first));
                remember(first.id, std::nullopt, at.now);
                kept().leave(kept().find_waiter(claim_id{first.id}));
                continue;
            }
            if (!fits(first)) return;
            if (first.replaces()) {
                kept().checkpoint();
                take_the_place_of(claim_id{first.instead_of}, at);
            }
            out.granted.push_back(notice_of(kept().promote(next_counter(at), at.now)));
        }
    }

    static effects::notice notice_of(const auto& held) {
        return {held.session,
                held.id,
                {.counter = held.counter, .lease = held.lease, .counted_from = held.since, .word = held.word},
                held.wait_slot};
    }

    void remember(const claim_id& id, std::optional<spi::release_answer> answer, spi::time_point now) {
        kept().remember(ended_claim::at(now, id, answer), now);
    }

    spi::release_answer stranger_answer() const noexcept {
        return kept().first_holder() ? spi::release_answer::taken_over : spi::release_answer::expired;
    }
};

}  // namespace mortise::inline v0::base
