// What an audit compares: the claims that clients admit to, and those that their store keeps.
//
// While all clients live, every claim in the store is one that some client admits to. Any other is an orphan: nobody will
// release it, and it is in the way for as long as the store keeps it. For tests and tools.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <string>
#include <vector>

namespace mortise::inline v0 {

class client;

namespace spi {

// A claim that a client has not done with.
struct admitted_claim {
    enum class stage {
        waiting,  // asked for, not granted as far as the client knows
        holding,
        leaving,  // given up or released; the release is repeated until the store has answered it
    };
    std::string name;
    claim_id id{};
    stage is = stage::waiting;
};

// All of them at this moment. A claim on its way from one stage to the next may be missing for an instant, so look again
// before drawing conclusions. Thread-safe. Empty in a child of fork.
MORTISE_API std::vector<admitted_claim> admitted(const client& of);

// A claim as the store itself keeps it.
struct stored_claim {
    std::string name;
    claim_id id{};        // zero: there is something that cannot be read
    bool holds = false;   // else it waits
    std::string where{};  // the key, the node, the record: for people
};

}  // namespace spi

}  // namespace mortise::inline v0
