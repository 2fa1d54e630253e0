// Random histories of one name, told to whatever keeps its state and to a naive model of it: every answer, every notice and
// the whole state must agree after each step.
#pragma once

#include "base/naive_lock_state.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace mortise::testing::histories {

using base::effects;
using base::instant;
using base::kept_claim;
using verdict = spi::claim_answer::verdict;

// splitmix64: the same on every machine, unlike the distributions of the standard library.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

private:
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::uint64_t state_;
};

struct step {
    enum class verb { claim, renew, release, break_hold, drop_session, settle };
    verb what{};
    kept_claim wanted{};  // claim; of the others only the id
    std::uint32_t capacity = 1;
    bool queue = false;
    spi::duration lease{};      // renew
    std::uint64_t counter = 0;  // break_hold
    std::uint64_t session = 0;  // drop_session
};

inline std::ostream& operator<<(std::ostream& out, const step& s) {
    const auto id = s.wanted.id.bits[0];
    switch (s.what) {
        case step::verb::claim:
            out << "claim #" << id << " " << s.wanted.weight << " of " << s.capacity << (s.queue ? ", queue" : "")
                << (s.wanted.replaces() ? " instead of #" + std::to_string(s.wanted.instead_of.bits[0]) : "")
                << (s.wanted.detached ? ", detached" : "") << ", session " << s.wanted.session;
            if (s.wanted.lease) out << ", lease " << s.wanted.lease->count() / 1000000 << " ms";
            return out;
        case step::verb::renew:
            return out << "renew #" << id << " for " << s.lease.count() / 1000000 << " ms";
        case step::verb::release:
            return out << "release #" << id;
        case step::verb::break_hold:
            return out << "break " << s.counter;
        case step::verb::drop_session:
            return out << "drop session " << s.session;
        case step::verb::settle:
            return out << "settle";
    }
    return out;
}

inline std::string told(const spi::grant& g) {
    std::ostringstream out;
    out << g.counter << " from " << g.counted_from.time_since_epoch().count() << " for "
        << (g.lease ? std::to_string(g.lease->count()) : "ever");
    return out.str();
}

inline std::string told(const std::vector<effects::notice>& notices) {
    std::ostringstream out;
    for (const auto& n : notices) out << "[" << n.session << " #" << n.id.bits[0] << " " << told(n.grant) << "]";
    return out.str();
}

inline std::string told(const std::vector<kept_claim>& holders) {
    std::ostringstream out;
    for (const auto& h : holders)
        out << "[#" << h.id.bits[0] << " weight " << h.weight << " counter " << h.counter << " session " << h.session
            << " since " << h.since.time_since_epoch().count() << " ends " << h.ends.time_since_epoch().count() << "]";
    return out.str();
}

// An answer to a claim, as text: easy to compare, easy to read when it differs.
inline std::string told(verdict is, errc reason, const spi::grant& given, std::optional<claim_id> in_the_way,
                        std::size_t place, std::optional<spi::duration> free_in) {
    std::ostringstream out;
    out << "verdict " << static_cast<int>(is) << " reason " << static_cast<int>(reason) << " grant " << told(given)
        << " behind " << (in_the_way ? std::to_string(in_the_way->bits[0]) : "nobody") << " place " << place
        << " free in " << (free_in ? std::to_string(free_in->count()) : "?");
    return out.str();
}

// `State` is base::lock_state, or behaves as it. `remembers`: how many ended ids it remembers.
template <class State>
class history {
public:
    history(std::uint64_t seed, State& real, flaw wrong, std::size_t remembers)
        : dice_(seed), real_(real), naive_(wrong, real.last_counter(), remembers), salt_(seed) {
        at_.wall_us += real.last_counter();
        usual_capacity_ = static_cast<std::uint32_t>(dice_.one_in(2) ? 1 : 1 + dice_.below(6));
        sessions_ = 1 + dice_.below(3);
        fast_ = dice_.one_in(3);
        long_ = dice_.one_in(40);  // long enough for ended ids to be forgotten for want of room
        if (long_) fast_ = true;
    }

    // The first disagreement, with the steps that led to it.
    std::optional<std::string> run() {
        const std::uint64_t steps = long_ ? 300 : 20 + dice_.below(41);
        for (std::uint64_t i = 0; i < steps; ++i) {
            pass_time();
            const step now = !log_.empty() && dice_.one_in(4) ? repeat() : invent();
            log_.push_back(now);
            times_.push_back(at_);
            take(now);
            compare_states();
            check_invariants();
            if (!wrong_.empty()) return wrong_ + "\nafter" + trace();
        }
        return std::nullopt;
    }

private:
    std::string trace() const {
        std::ostringstream out;
        for (std::size_t i = 0; i < log_.size(); ++i)
            out << "\n  " << times_[i].now.time_since_epoch().count() / 1000000 << " ms, wall " << times_[i].wall_us
                << ": " << log_[i];
        return out.str();
    }

    void pass_time() {
        if (!dice_.one_in(3)) at_.now += std::chrono::milliseconds{dice_.below(long_ ? 50 : fast_ ? 500 : 6000)};
        at_.wall_us += dice_.below(fast_ ? 3 : 5000);
        if (dice_.one_in(20)) at_.wall_us -= std::min<std::uint64_t>(at_.wall_us, dice_.below(100000));
        if (dice_.one_in(40)) at_.wall_us += dice_.below(100000);
    }

    step invent() {
        step s;
        s.wanted.id = any_id();
        switch (dice_.below(12)) {
            default:
                s.what = step::verb::claim;
                s.wanted = {
                    .id = {{++last_id_, salt_}}, .session = 1 + dice_.below(sessions_), .detached = dice_.one_in(5)};
                s.capacity = dice_.one_in(12) ? static_cast<std::uint32_t>(1 + dice_.below(6)) : usual_capacity_;
                s.wanted.weight = static_cast<std::uint32_t>(1 + dice_.below(s.capacity));
                if (!dice_.one_in(6)) s.wanted.lease = a_lease();
                s.queue = !dice_.one_in(4);
                if (const std::vector<kept_claim> held = real_.holders(); !held.empty() && dice_.one_in(4)) {
                    const kept_claim& old = held[dice_.below(held.size())];
                    s.wanted.instead_of = dice_.one_in(8) ? any_id() : old.id;
                    s.wanted.session = old.session;
                    s.capacity = real_.capacity();
                    s.wanted.weight =
                        static_cast<std::uint32_t>(dice_.one_in(2) ? s.capacity : 1 + dice_.below(s.capacity));
                }
                return s;
            case 0:
            case 1:
            case 2:
                s.what = step::verb::release;
                s.session = 1 + dice_.below(3);
                return s;
            case 3:
            case 4:
                s.what = step::verb::renew;
                s.lease = a_lease();
                return s;
            case 5:
                s.what = step::verb::settle;
                return s;
            case 6:
                if (dice_.one_in(2)) {
                    s.what = step::verb::drop_session;
                    s.session = 1 + dice_.below(sessions_);
                } else {
                    s.what = step::verb::break_hold;
                    const std::vector<kept_claim> held = real_.holders();
                    s.counter = held.empty() || dice_.one_in(4) ? real_.last_counter() + dice_.below(2)
                                                                : held[dice_.below(held.size())].counter;
                }
                return s;
        }
    }

    // Any earlier request once more: late, doubled, or asked again with the will to wait.
    step repeat() {
        step again = log_[dice_.below(log_.size())];
        if (again.what == step::verb::claim && dice_.one_in(3)) again.queue = true;
        return again;
    }

    spi::duration a_lease() { return std::chrono::milliseconds{500 + dice_.below(15000)}; }

    claim_id any_id() {  // mostly a recent one, now and then one that was never claimed
        if (last_id_ == 0 || dice_.one_in(15)) return {{1000 + dice_.below(5), salt_}};
        return {{last_id_ - dice_.below(std::min<std::uint64_t>(last_id_, 8)), salt_}};
    }

    void take(const step& s) {
        effects out;
        naive_.granted.clear();
        naive_.lost.clear();
        switch (s.what) {
            case step::verb::claim: {
                const auto got = real_.claim(s.wanted, s.capacity, s.queue, at_, out);
                follow(s, out, &got);
                compare("answer", told(got), told(naive_.ask(s.wanted, s.capacity, s.queue, at_)));
                break;
            }
            case step::verb::renew:
                compare("answer", static_cast<int>(real_.renew(s.wanted.id, s.lease, at_, out)),
                        static_cast<int>(naive_.renew(s.wanted.id, s.lease, at_)));
                break;
            case step::verb::release:
                compare("answer", static_cast<int>(real_.release(s.wanted.id, s.session, at_, out)),
                        static_cast<int>(naive_.release(s.wanted.id, s.session, at_)));
                break;
            case step::verb::break_hold:
                compare("answer", real_.break_hold(s.counter, at_, out), naive_.break_hold(s.counter, at_));
                break;
            case step::verb::drop_session:
                real_.drop_session(s.session, at_, out);
                naive_.drop_session(s.session, at_);
                break;
            case step::verb::settle:
                real_.settle(at_, out);
                naive_.settle(at_);
                break;
        }
        if (s.what != step::verb::claim) follow(s, out, nullptr);
        compare("granted", told(out.granted), told(naive_.granted));
        compare("lost", told(out.lost), told(naive_.lost));
    }

    static std::string told(const base::verdict& got) {
        return histories::told(got.is, got.reason, got.grant,
                               got.in_the_way ? std::optional(got.in_the_way->id) : std::nullopt, got.place,
                               got.free_in);
    }
    static std::string told(const naive_lock_state::answer& got) {
        return histories::told(got.is, got.reason, got.grant, got.in_the_way, got.place, got.free_in);
    }
    static std::string told(const std::vector<effects::notice>& n) { return histories::told(n); }

    void compare_states() {
        compare("holders", histories::told(real_.holders()), histories::told(naive_.holders));
        compare("waiting", real_.waiting(), naive_.queue.size());
        compare("idle", real_.idle(), !naive_.busy());
        compare("last counter", real_.last_counter(), naive_.last);
        if constexpr (requires { real_.forgettable(at_.now); })
            compare("forgettable", real_.forgettable(at_.now), naive_.forgettable(at_));
        if (naive_.busy()) compare("capacity", real_.capacity(), naive_.capacity());
        auto first_end = spi::time_point::max();
        for (const auto& held : naive_.holders) first_end = std::min(first_end, held.ends);
        compare("next end", real_.next_end().time_since_epoch().count(), first_end.time_since_epoch().count());
        if (!wrong_.empty() || naive_.queue.empty()) return;

        // A waiting claim that asks again learns its place, and changes nothing by asking.
        compare("first session", real_.first_waiting().session, naive_.queue.front().session);
        for (std::size_t i = 0; i < naive_.queue.size(); ++i) {
            effects none;
            const auto got = real_.claim(naive_.queue[i], naive_.capacity(), true, at_, none);
            compare("place", got.place, i + 1);
            compare("no notices", none.granted.size() + none.lost.size(), std::size_t{0});
        }
    }

    // True of any correct state, whatever the model says.
    void check_invariants() {
        std::uint64_t used = 0;
        for (const auto& held : real_.holders()) {
            used += held.weight;
            if (held.ends <= at_.now) fail("holds though its lease has ended");
        }
        if (!real_.idle() && used > real_.capacity()) fail("more weight is held than fits");
        if (naive_.queue.empty()) return;
        const kept_claim& head = naive_.queue.front();
        for (const auto& held : real_.holders())
            if (held.id == head.instead_of) used -= held.weight;
        if (used + head.weight <= real_.capacity()) fail("the head of the queue fits and is not let in");
    }

    // Counters rise; whoever is let in from the line is its head, and nobody gets in past a line.
    void follow(const step& s, const effects& out, const base::verdict* said) {
        const auto granted_too = [&](const effects::notice& lost) {
            return std::any_of(out.granted.begin(), out.granted.end(), [&](const auto& n) { return n.id == lost.id; });
        };
        for (const auto& n : out.lost)
            if (!granted_too(n)) std::erase_if(line_, [&](const kept_claim& waits) { return waits.id == n.id; });
        const auto leaves = [&](const kept_claim& waits) {
            return s.what == step::verb::release        ? waits.id == s.wanted.id
                   : s.what == step::verb::drop_session ? waits.session == s.session
                                                        : false;
        };
        for (const auto& n : out.granted) {
            while (!line_.empty() && line_.front().id != n.id && leaves(line_.front())) line_.erase(line_.begin());
            if (line_.empty() || line_.front().id != n.id) return fail("served before somebody who came first");
            line_.erase(line_.begin());
            expect_higher(n.grant.counter);
        }
        std::erase_if(line_, leaves);
        if (said == nullptr) return;
        const auto in_line = [&](const kept_claim& waits) { return waits.id == s.wanted.id; };
        if (said->is == verdict::queued && std::none_of(line_.begin(), line_.end(), in_line))
            line_.insert(s.wanted.replaces() ? line_.begin() : line_.end(), s.wanted);
        if (said->is == verdict::granted && real_.holders().back().id == s.wanted.id &&
            said->grant.counter > highest_) {
            if (!line_.empty() && !s.wanted.replaces()) fail("got in past the line");
            expect_higher(said->grant.counter);
        }
    }
    void expect_higher(std::uint64_t counter) {
        if (counter <= highest_) fail("a counter that does not rise");
        highest_ = counter;
    }

    template <class T>
    void compare(const char* what, const T& real, const T& model) {
        if (real == model || !wrong_.empty()) return;
        std::ostringstream out;
        out << what << ": " << real << "\n  the model says " << model;
        wrong_ = out.str();
    }
    void fail(const char* what) {
        if (wrong_.empty()) wrong_ = what;
    }

    dice dice_;
    State& real_;
    naive_lock_state naive_;
    instant at_{spi::time_point{std::chrono::seconds{1000}}, 5000};
    std::uint32_t usual_capacity_ = 1;
    std::uint64_t sessions_ = 1;
    bool fast_ = false;
    bool long_ = false;

    std::uint64_t last_id_ = 0;
    const std::uint64_t salt_;  // a state may remember ids of another history
    std::vector<step> log_;
    std::vector<instant> times_;
    std::string wrong_;

    std::uint64_t highest_ = real_.last_counter();
    std::vector<kept_claim> line_;  // who waits, from the answers alone
};

}  // namespace mortise::testing::histories
