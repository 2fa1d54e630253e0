// Ending the claims of processes that are gone. Nobody tells of a death: whoever meets such a claim does it.
#pragma once

#include "stores/host/bells.hpp"
#include "stores/host/named_state.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::host {

// Whether its process lives.
bool is_alive(const ledger& in, session who) noexcept;

// Whether whoever made the claim is still there for it: its process lives, and its client has not left it behind.
bool has_owner(const ledger& in, const named_state& state, block_number claim) noexcept;

// In the whole ledger, and what follows for others, by name. For a client that comes. Of a crowd of clients only some are
// asked after: each question costs the kernel a look at all seats, and those in anybody's way are found anyhow.
std::vector<std::pair<std::string, base::effects>> bury_all(ledger& in, std::chrono::milliseconds at_most);

// Of one name, as far as they are in anybody's way: those that hold, and the first in the queue. Whose they were.
std::set<session> bury_those_in_the_way(const ledger& in, named_state& state, base::instant at, base::effects& out);

}  // namespace mortise::inline v0::stores::host
