// Who waits for whom: deadlocks between the threads of this process, found and named.
//
//   thread 1 holds 'a' ---waits for---> 'b' held by thread 2
//        ^                                          |
//        +------ held by thread 1, 'a' <---waits for+
//
// This part is pure: it is given who waits and who holds, and says which waits go round in a cycle. Threads of other
// processes are not seen here, nor are holds that travel as handles: nobody knows who will release those.
#pragma once

#include "core/reentry.hpp"

#include <mortise/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mortise::inline v0::core {

// A lock in this process's eyes: two clients of one address mean the same.
struct lock_name {
    std::string store;  // its address; for a store that has none, something only it has
    std::string name;
    friend bool operator==(const lock_name&, const lock_name&) = default;
};

struct blocked_owner {
    owner_key who = 0;
    lock_name on;
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    std::string shown_as{};  // "thread 4711 (worker)"
};

struct owned_lock {
    owner_key who = 0;
    lock_name which;
    std::uint32_t weight = 1;
};

// Each cycle as indices into `blocked`, everyone waiting for the next and the last for the first. No owner is in two.
std::vector<std::vector<std::size_t>> find_cycles(const std::vector<blocked_owner>& blocked,
                                                  const std::vector<owned_lock>& owned);

// "deadlock: thread 1 holds 'a' and waits for 'b'; thread 2 holds 'b' and waits for 'a'"
std::string describe_cycle(const std::vector<blocked_owner>& blocked, const std::vector<std::size_t>& cycle);

}  // namespace mortise::inline v0::core
