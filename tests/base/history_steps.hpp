// What a random history of a name is made of: dice, steps, and how to say both in words.
#pragma once

#include "base/naive_lock_state.hpp"

#include <chrono>
#include <cstdint>
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

}  // namespace mortise::testing::histories
