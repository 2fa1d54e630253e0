// Ends the claims of processes that have died. Nobody announces a death: whoever finds such a claim ends it.
#pragma once

#include "stores/host/named_state.hpp"
#include "stores/host/session_id.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::host {

// Whether its process lives.
bool is_alive(const ledger& in, session_id owner) noexcept;

// Whether the claim's process lives and its client has not abandoned it.
bool has_owner(const ledger& in, const named_state& state, block_number claim) noexcept;

// In the whole ledger, for a client that connects; returns the effects on others, by name. If there are many clients only some are
// checked: each check makes the kernel search all process slots. If the ledger is busy, only some names are. Those that block
// somebody are found anyhow.
std::vector<std::pair<std::string, base::effects>> reap_all(ledger& in, std::chrono::milliseconds at_most);

// The claims on one name that may block others: those that hold, and the first in the queue. Returns the sessions they belonged
// to.
std::set<session_id> reap_blocking(const ledger& in, named_state& state, base::instant at, base::effects& out);

}  // namespace mortise::inline v0::stores::host
