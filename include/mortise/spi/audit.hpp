// Audits: comparing the claims that clients know with the claims that their store keeps. For tests and tools.
//
// While all clients live, some client must know every claim in the store. Any other claim is an orphan: nobody will
// release it, and it blocks the lock for as long as the store keeps it.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <string>
#include <vector>

namespace mortise::inline v0 {

class client;

namespace spi {

// A claim that a client knows and that is not over for it.
struct admitted_claim {
    enum class stage {
        waiting,  // requested, and not granted as far as the client knows
        holding,
        leaving,  // given up or released; the release is repeated until the store answers it
    };
    std::string name;
    claim_id id{};
    stage is = stage::waiting;
};

// All claims that the client knows at this moment. A claim that changes its stage may be missing for an instant, so
// repeat the call before drawing conclusions. Thread-safe. Empty in the child of a fork.
MORTISE_API std::vector<admitted_claim> admitted(const client& of);

// A claim as the store keeps it.
struct stored_claim {
    std::string name;
    claim_id id{};        // zero: the record cannot be read
    bool holds = false;   // false: it waits
    std::string where{};  // the key, the node, the record: for people
};

}  // namespace spi

}  // namespace mortise::inline v0
