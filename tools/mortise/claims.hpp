// What the verbs that take a lock have in common.
#pragma once

#include "verbs.hpp"

#include <mortise/claim.hpp>
#include <mortise/client.hpp>

#include <string>

namespace command {

// NAME, --wait, --lease and --label as a claim: a mutex. The configuration's label stands in for a missing one.
mortise::claim claim_of(const request& asked);

// This host and process as others see it in a list: "web-3:4711".
std::string this_holder();

}  // namespace command
