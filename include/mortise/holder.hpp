// Who has the lock, as seen from outside.
#pragma once

#include <mortise/config.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace mortise::inline v0 {

struct holder {
    std::string host;  // empty, and pid zero: another program took it, which does not say who it is
    std::int64_t pid = 0;
    std::string label;
    // On the store's clock; no wall clock is involved. Unset: not known. etcd and ZooKeeper do not record when a lock was
    // granted, so there it is known of this client's own holds only.
    std::optional<std::chrono::nanoseconds> held_for{};
    mortise::token token{};

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

    // Until the hold ends if nobody renews it, on the store's clock. Unset: not known, or the hold has no lease.
    std::optional<std::chrono::nanoseconds> lease_left{};
};

}  // namespace mortise::inline v0
