// Detects a claim that would deadlock with a `mortise run` that encloses it.
#pragma once

#include <mortise/claim.hpp>
#include <mortise/client.hpp>

namespace command {

// The process name of a run that holds its lock until all its descendants have ended, and of one with -o, which does not.
inline constexpr const char* guardian_name = "mortise-guard";
inline constexpr const char* closing_guardian_name = "mortise-guard-o";

// Refuses a claim that an enclosing run blocks. Asks the store only inside a run. Shares are counted: two readers may nest. Throws
// failure(usage).
void refuse_self_wait(mortise::client& locks, const mortise::claim& wanted);

}  // namespace command
