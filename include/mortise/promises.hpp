// What a store promises.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0 {

// What a store promises; code, tests and docs/guarantees.md read it. A claim that requires more is refused with
// errc::unsupported.
struct promises {
    std::string store{};     // "memory", "redis single", ...
    bool tokens = false;     // strictly increasing fencing tokens
    bool fifo = false;       // waiters are granted strictly in order of arrival
    bool detached = false;   // kept_by::lease
    bool leases = false;     // holds can expire
    bool upgrades = false;   // a hold can be exchanged for a larger or smaller one in one step
    bool processes = false;  // several processes can share it
    bool replicas = false;   // a claim can wait for replicas (durability::wait)
    bool pushes = false;     // tells a waiter that its turn has come; false: waiters ask again, at paced intervals
    bool keeps = false;      // tells a client that keeps an idle lock when another asks for it (claim_options::keep)
    bool lists = false;      // can say who holds what
    bool raises_tokens = false;  // tokens can be raised, so that several stores give them together (spi::quorum_of)
    std::uint32_t most_capacity = 1;  // largest capacity of a name; 1: exclusive locks only

    // The lease of a claim that sets none. Unset: no lease is needed, because the store detects the holder's death.
    std::optional<std::chrono::nanoseconds> default_lease{};

    // The longest lease. A claim with a longer one gets this one and is renewed more often; with renew::off it is
    // refused. Unset: no limit.
    std::optional<std::chrono::nanoseconds> longest_lease{};

    // In which order waiters are granted, if `fifo` does not say it all; one sentence.
    std::string order{};

    std::string reach{};  // who can share it: "threads of one process", "processes of one host", ...

    // For docs/guarantees.md, one sentence each. Exclusion means that hold::valid() is never true for two holders at
    // once.
    std::string exclusion{};             // without tokens
    std::string fencing{};               // with tokens, on a resource that seals and checks them
    std::string freed{};                 // how soon a lock is free after its holder died
    std::vector<std::string> assumes{};  // what exclusion depends on
    std::vector<std::string> ends{};     // when exclusion ends
};

}  // namespace mortise::inline v0
