// Who holds a lock, as the store reports it.
#pragma once

#include <mortise/config.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace mortise::inline v0 {

// Who holds a lock.
struct holder {
    std::string host;  // empty, with pid 0: held by another program, which does not record its host
    std::int64_t pid = 0;
    std::string label;
    // By the store's clock; no wall clock is involved. Unset: not known. etcd and ZooKeeper do not record when a lock
    // was granted, so with them it is known only for this client's own holds.
    std::optional<std::chrono::nanoseconds> held_for{};
    mortise::token token{};

    // "web-3 pid 4711 (nightly), for 12 s, token 1823...", without what is not known.
    MORTISE_API std::string describe() const;
};

inline std::string to_string(const holder& it) {
    return it.describe();
}
MORTISE_API std::ostream& operator<<(std::ostream&, const holder&);

// A held lock in the result of client::list(). A lock with several holders (readers, permits) has one entry for each.
struct held_lock {
    std::string name{};
    mortise::holder holder{};
    std::uint32_t capacity = 1;  // of the name
    std::uint32_t weight = 1;    // of this hold
    std::size_t waiting = 0;     // number of waiters for the name

    // Time until the hold expires unless renewed, by the store's clock. Unset: not known, or the hold has no lease.
    std::optional<std::chrono::nanoseconds> lease_left{};
};

}  // namespace mortise::inline v0
