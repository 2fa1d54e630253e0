// Whether a claim would wait for a `mortise run` around it, which waits for the claim: neither would ever end.
#pragma once

#include <mortise/claim.hpp>
#include <mortise/client.hpp>

namespace command {

// By this name a run is known that holds its lock until all its descendants have ended. With -o it need not.
inline constexpr const char* guardian_name = "mortise-guard";
inline constexpr const char* closing_guardian_name = "mortise-guard-o";

// Asks the store only within such a run. Shares and permits are counted: two readers may be nested. Throws failure(usage).
void must_not_wait_for_itself(mortise::client& locks, const mortise::claim& wanted);

}  // namespace command
