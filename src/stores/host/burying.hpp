// Ending the claims of processes that are gone. Nobody tells of a death: whoever meets such a claim does it.
#pragma once

#include "stores/host/bells.hpp"
#include "stores/host/named_state.hpp"

#include <mortise/config.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::host {

bool is_alive(const ledger& in, session who) noexcept;

// All of them in the whole ledger, and what follows for others, by name. For a client that comes.
std::vector<std::pair<std::string, base::effects>> bury_all(ledger& in);

// Of one name, as far as they are in anybody's way: those that hold, and the first in the queue. Whose they were.
std::set<session> bury_those_in_the_way(const ledger& in, named_state& state, base::instant at, base::effects& out);

}  // namespace mortise::inline v0::stores::host
