// What a store promises, in a form that code, tests and documents read.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0 {

// A demand that a store does not promise is refused by name, never met by pretending.
struct promises {
    std::string store{};     // "memory", "redis single", ...
    bool tokens = false;     // fencing tokens that strictly rise
    bool fifo = false;       // waiters are served strictly in order of arrival
    bool detached = false;   // kept_by::lease
    bool leases = false;     // a hold can end by time
    bool upgrades = false;   // a hold can become a heavier or lighter one in one step
    bool processes = false;  // several processes can meet on it
    bool replicas = false;   // a claim can wait for replicas (durability::wait)
    bool pushes = false;     // tells a waiter that its turn has come; false: waiters ask again, at paced intervals
    bool lists = false;      // can say who holds what
    std::uint32_t most_capacity = 1;  // largest capacity of a name; 1: exclusive locks only

    // The lease of a claim that names none. Unset: the store itself notices the holder's death, so none is needed.
    std::optional<std::chrono::nanoseconds> default_lease{};

    // The longest lease of a hold. A claim that asks for more is given this one and renewed more often; one that is not
    // renewed (renew::off) is refused. Unset: as long as you like.
    std::optional<std::chrono::nanoseconds> longest_lease{};

    // How waiters are served, where `fifo` does not say it all; one sentence.
    std::string order{};

    std::string reach{};  // who can meet on it: "threads of one process", "processes of one host", ...

    // What docs/guarantees.md says, one sentence each. Exclusion is about `valid()`: at no instant is it true for two.
    std::string exclusion{};             // without tokens
    std::string fencing{};               // with tokens, on a resource that seals and checks them
    std::string freed{};                 // how soon a lock is free after its holder died
    std::vector<std::string> assumes{};  // what exclusion rests on
    std::vector<std::string> ends{};     // when it ends
};

}  // namespace mortise::inline v0
