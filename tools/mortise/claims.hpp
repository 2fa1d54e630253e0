// What the verbs that take a lock have in common.
#pragma once

#include "verbs.hpp"

#include <mortise/claim.hpp>
#include <mortise/client.hpp>

#include <string>
#include <vector>

namespace command {

// -n, -w, -s, -x, --permits, -E, --lease, --no-renew and --label, and those of the verb itself.
std::vector<option> claim_options_and(std::vector<option> own);

// NAME and those options as a claim; a mutex unless they say otherwise. The configuration's label stands in for a missing
// one. Throws failure(usage).
mortise::claim claim_of(const request& asked);

// What to exit with when the lock is busy: -E, else 1.
int busy_code_of(const arguments& given);

// A lock that ends with this process, or keeps only its own threads apart, is none for a command. Throws failure(usage).
void must_span_processes(const mortise::client& locks);

// A store where locks end with their process knows none that acquire took. Throws failure(usage).
void must_outlive_processes(const mortise::client& locks);

// This host and process as others see it in a list: "web-3:4711".
std::string this_holder();

}  // namespace command
