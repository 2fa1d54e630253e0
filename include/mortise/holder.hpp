// Who has the lock, as seen from outside.
#pragma once

#include <mortise/config.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace mortise::inline v0 {

struct holder {
    std::string host;  // empty, and pid zero: another program took it, which does not say who it is
    std::int64_t pid = 0;
    std::string label;
    // On the store's clock; no wall clock is involved. etcd does not tell: there it is how long this client has seen the claim.
    // ZooKeeper tells those clients only that have claimed something themselves. Zero: not known.
    std::chrono::nanoseconds held_for{};
    mortise::token token{};

    // Whether held_for is worth showing. A store that does not know says zero, and what passes until it is shown may be added.
    bool held_for_known() const noexcept { return held_for >= std::chrono::milliseconds{1}; }

    // "web-3 pid 4711 (nightly), for 12 s, token 1823..."; what is not known is left out
    MORTISE_API std::string describe() const;
};

inline std::string to_string(const holder& it) {
    return it.describe();
}
MORTISE_API std::ostream& operator<<(std::ostream&, const holder&);

// A lock that is held, as client::list() shows it. One with several holders (readers, permits) is shown once for each.
struct held_lock {
    std::string name{};
    mortise::holder holder{};
    std::uint32_t capacity = 1;  // of the name
    std::uint32_t weight = 1;    // of this hold
    std::size_t waiting = 0;     // how many wait for the name
};

}  // namespace mortise::inline v0
