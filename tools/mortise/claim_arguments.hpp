// The options of verbs that acquire a lock, and the claim they describe.
#pragma once

#include "verbs.hpp"

#include <mortise/claim.hpp>
#include <mortise/client.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace command {

// -n, -w, -s, -x, --permits, -E, --lease, --no-renew and --label, and those of the verb itself.
std::vector<option> claim_options_and(std::vector<option> own);

// Without those that a verb has no use for.
std::vector<option> without(std::vector<option> all, std::initializer_list<std::string_view> names);

// The claim that NAME and these options describe; a mutex by default. Without --label it has the configuration's label. Throws
// failure(usage).
mortise::claim claim_of(const request& asked);

// The exit code if the lock is busy: -E, else 1.
int busy_code_of(const arguments& given);

// Refuses a store whose locks only threads of one process share. Throws failure(usage).
void require_shared_store(const mortise::client& locks);

// Refuses a store without detached claims, which end with their process. Throws failure(usage).
void require_detached_claims(const mortise::client& locks);

// This host and process as others see it in a list: "web-3:4711".
std::string this_holder();

}  // namespace command
