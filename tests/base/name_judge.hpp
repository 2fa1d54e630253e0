// One name, kept by whatever is under test and by the naive model: every answer, every notice and the whole state must agree
// after each step.
#pragma once

#include "base/history_steps.hpp"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace mortise::testing::histories {

// What happened in some histories: a comparison of nothing would agree as well.
struct tally {
    std::uint64_t histories = 0;
    std::uint64_t steps = 0;
    std::uint64_t grants = 0;
    std::uint64_t waits = 0;
    std::uint64_t cancels = 0;  // waiting claims that left
    std::uint64_t expiries = 0;
    std::uint64_t renewals = 0;
    std::uint64_t exchanges = 0;  // of these grants: upgrades and downgrades
    std::uint64_t deadlocks = 0;  // upgrades that were refused for another
    std::uint64_t deaths = 0;     // of sessions that held or waited
    std::uint64_t breaks = 0;

    friend std::ostream& operator<<(std::ostream& out, const tally& t) {
        return out << "histories=" << t.histories << " steps=" << t.steps << " grants=" << t.grants
                   << " waits=" << t.waits << " cancels=" << t.cancels << " expiries=" << t.expiries
                   << " renewals=" << t.renewals << " exchanges=" << t.exchanges << " would_deadlock=" << t.deadlocks
                   << " deaths=" << t.deaths << " breaks=" << t.breaks;
    }
};

// What one step was answered, and who else heard of it.
struct outcome {
    base::verdict claim{};                                       // of a claim
    spi::renewal_answer renewal = spi::renewal_answer::unknown;  // of a renewal
    effects out{};
};

// `State` is base::lock_state, or behaves as it. `remembers`: how many ended ids it remembers.
template <class State>
class name_judge {
public:
    name_judge(State& real, flaw wrong, std::size_t remembers, tally& counted)
        : real_(real), naive_(wrong, real.last_counter(), remembers), counted_(counted) {
        if constexpr (requires { State::remembered_for; }) naive_.remembered_for = State::remembered_for;
    }

    // After each step, that is what the state is.
    const std::vector<kept_claim>& holders() const { return holders_; }
    State& state() { return real_; }

    outcome take(const step& s, instant at) {
        naive_.granted.clear();
        naive_.lost.clear();
        // Names may share a counter that others have raised meanwhile.
        naive_.last = std::max(naive_.last, real_.last_counter());
        ++counted_.steps;
        count_before(s, at);
        outcome got;
        switch (s.what) {
            case step::verb::claim:
                got.claim = real_.claim(s.wanted, s.capacity, s.queue, at, got.out);
                compare(got.claim, naive_.ask(s.wanted, s.capacity, s.queue, at));
                break;
            case step::verb::renew:
                got.renewal = real_.renew(s.wanted.id, s.lease, at, got.out);
                compare("answer", static_cast<int>(got.renewal),
                        static_cast<int>(naive_.renew(s.wanted.id, s.lease, at)));
                break;
            case step::verb::release:
                compare("answer", static_cast<int>(real_.release(s.wanted.id, s.session, at, got.out)),
                        static_cast<int>(naive_.release(s.wanted.id, s.session, at)));
                break;
            case step::verb::break_hold: {
                const bool broke = real_.break_hold(s.counter, at, got.out);
                counted_.breaks += broke ? 1 : 0;
                compare("answer", broke, naive_.break_hold(s.counter, at));
                break;
            }
            case step::verb::drop_session:
                real_.drop_session(s.session, at, got.out);
                naive_.drop_session(s.session, at);
                break;
            case step::verb::settle:
                real_.settle(at, got.out);
                naive_.settle(at);
                break;
        }
        before_ = std::exchange(holders_, real_.holders());
        follow(s, got);
        compare("granted", got.out.granted, naive_.granted);
        compare("lost", got.out.lost, naive_.lost);
        compare_states(at);
        check_invariants(at);
        if (got.renewal == spi::renewal_answer::renewed) ++counted_.renewals;
        if (got.claim.reason == errc::would_deadlock) ++counted_.deadlocks;
        return got;
    }

    // The first disagreement; empty while there is none.
    const std::string& complaint() const { return wrong_; }

private:
    // Ended by this very step, if by anything.
    void count_before(const step& s, instant at) {
        for (const kept_claim& held : holders_) counted_.expiries += held.ends <= at.now ? 1 : 0;
        const auto is_it = [&](const kept_claim& c) {
            return s.what == step::verb::release ? c.id == s.wanted.id : c.session == s.session;
        };
        const bool waits = std::any_of(line_.begin(), line_.end(), is_it);
        if (s.what == step::verb::release && waits) ++counted_.cancels;
        if (s.what == step::verb::drop_session && (waits || std::any_of(holders_.begin(), holders_.end(), is_it)))
            ++counted_.deaths;
    }
    static bool same(const spi::grant& a, const spi::grant& b) {
        return a.counter == b.counter && a.lease == b.lease && a.counted_from == b.counted_from;
    }
    static bool same(const std::vector<effects::notice>& a, const std::vector<effects::notice>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
            return x.session == y.session && x.id == y.id && x.wait_slot == y.wait_slot && same(x.grant, y.grant);
        });
    }
    static bool same(const std::vector<kept_claim>& a, const std::vector<kept_claim>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
            return x.id == y.id && x.session == y.session && x.weight == y.weight && x.detached == y.detached &&
                   x.lease == y.lease && x.counter == y.counter && x.since == y.since && x.ends == y.ends;
        });
    }
    template <class T>
    static bool same(const T& a, const T& b) {
        return a == b;
    }
    template <class T>
    static std::string text_of(const T& what) {
        std::ostringstream out;
        if constexpr (requires { told(what); }) {
            out << told(what);
        } else {
            out << what;
        }
        return out.str();
    }

    template <class T>
    void compare(const char* what, const T& real, const T& model) {
        if (same(real, model) || !wrong_.empty()) return;
        wrong_ = std::string(what) + ": " + text_of(real) + "\n  the model says " + text_of(model);
    }
    void compare(const base::verdict& real, const naive_lock_state::answer& model) {
        const auto behind = real.in_the_way ? std::optional(real.in_the_way->id) : std::nullopt;
        const bool agree = real.is == model.is && real.reason == model.reason && same(real.grant, model.grant) &&
                           behind == model.in_the_way && real.place == model.place && real.free_in == model.free_in;
        if (agree || !wrong_.empty()) return;
        wrong_ = "answer: " + told(real.is, real.reason, real.grant, behind, real.place, real.free_in) +
                 "\n  the model says " +
                 told(model.is, model.reason, model.grant, model.in_the_way, model.place, model.free_in);
    }
    void fail(const char* what) {
        if (wrong_.empty()) wrong_ = what;
    }

    void compare_states(instant at) {
        compare("holders", holders_, naive_.holders);
        compare("waiting", real_.waiting(), naive_.queue.size());
        compare("idle", real_.idle(), !naive_.busy());
        compare("last counter", real_.last_counter(), naive_.last);
        if constexpr (requires { real_.forgettable(at.now); })
            compare("forgettable", real_.forgettable(at.now), naive_.forgettable(at));
        if (naive_.busy()) compare("capacity", real_.capacity(), naive_.capacity());
        auto first_end = spi::time_point::max();
        for (const auto& held : naive_.holders) first_end = std::min(first_end, held.ends);
        compare("next end", real_.next_end().time_since_epoch().count(), first_end.time_since_epoch().count());
        if (!wrong_.empty() || naive_.queue.empty()) return;

        // A waiting claim that asks again learns its place, and changes nothing by asking.
        compare("first session", real_.first_waiting().session, naive_.queue.front().session);
        for (std::size_t i = 0; i < naive_.queue.size(); ++i) {
            effects none;
            const auto got = real_.claim(naive_.queue[i], naive_.capacity(), true, at, none);
            compare("place", got.place, i + 1);
            compare("no notices", none.granted.size() + none.lost.size(), std::size_t{0});
        }
    }

    // True of any correct state, whatever the model says.
    void check_invariants(instant at) {
        std::uint64_t used = 0;
        for (const auto& held : holders_) {
            used += held.weight;
            if (held.ends <= at.now) fail("holds though its lease has ended");
        }
        if (!real_.idle() && used > real_.capacity()) fail("more weight is held than fits");
        if (naive_.queue.empty()) return;
        const kept_claim& head = naive_.queue.front();
        for (const auto& held : holders_)
            if (held.id == head.instead_of) used -= held.weight;
        if (used + head.weight <= real_.capacity()) fail("the head of the queue fits and is not let in");
    }

    // Counters rise; whoever is let in from the line is its head, and nobody gets in past a line.
    void follow(const step& s, const outcome& got) {
        const effects& out = got.out;
        const auto granted_too = [&](const effects::notice& lost) {
            return std::any_of(out.granted.begin(), out.granted.end(), [&](const auto& n) { return n.id == lost.id; });
        };
        for (const auto& n : out.lost)
            if (!granted_too(n)) std::erase_if(line_, [&](const kept_claim& waits) { return waits.id == n.id; });
        const auto leaves = [&](const kept_claim& waits) {
            return s.what == step::verb::release        ? waits.id == s.wanted.id
                   : s.what == step::verb::drop_session ? waits.session == s.session
                                                        : got.claim.is == verdict::busy && waits.id == s.wanted.id;
        };
        // A claim that is granted at once may let others in behind it, by taking less than it had.
        const bool at_once = granted_at_once(s, got);
        bool counted = false;
        const auto count_own = [&] {
            if (!at_once || std::exchange(counted, true)) return;
            if (!line_.empty() && !s.wanted.replaces()) fail("got in past the line");
            expect_higher(got.claim.grant.counter);
            if (s.wanted.replaces()) ++counted_.exchanges;
        };
        for (const auto& n : out.granted) {
            if (n.grant.counter > got.claim.grant.counter) count_own();
            while (!line_.empty() && line_.front().id != n.id && leaves(line_.front())) line_.erase(line_.begin());
            if (line_.empty() || line_.front().id != n.id) return fail("served before somebody who came first");
            if (line_.front().replaces()) ++counted_.exchanges;
            line_.erase(line_.begin());
            expect_higher(n.grant.counter);
        }
        count_own();
        std::erase_if(line_, leaves);
        const auto in_line = [&](const kept_claim& waits) { return waits.id == s.wanted.id; };
        if (s.what != step::verb::claim || got.claim.is != verdict::queued) return;
        if (std::any_of(line_.begin(), line_.end(), in_line)) return;
        line_.insert(s.wanted.replaces() ? line_.begin() : line_.end(), s.wanted);
        ++counted_.waits;
    }
    // Not a repeat of a claim that holds already, nor one whose turn had come.
    bool granted_at_once(const step& s, const outcome& got) const {
        const auto is_it = [&](const auto& other) { return other.id == s.wanted.id; };
        return s.what == step::verb::claim && got.claim.is == verdict::granted &&
               std::none_of(before_.begin(), before_.end(), is_it) &&
               std::none_of(got.out.granted.begin(), got.out.granted.end(), is_it);
    }
    void expect_higher(std::uint64_t counter) {
        ++counted_.grants;
        if (counter <= highest_) fail("a counter that does not rise");
        highest_ = counter;
    }

    State& real_;
    naive_lock_state naive_;
    tally& counted_;
    std::string wrong_;
    std::vector<kept_claim> holders_ = real_.holders();
    std::vector<kept_claim> before_;  // the latest step

    std::uint64_t highest_ = real_.last_counter();
    std::vector<kept_claim> line_;  // who waits, from the answers alone
};

}  // namespace mortise::testing::histories
