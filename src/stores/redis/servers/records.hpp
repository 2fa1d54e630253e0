// What servers of a test keep, read by a script of the test's own.
#pragma once

#include "stores/redis/servers/server.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/audit.hpp>

#include <string>
#include <vector>

namespace mortise::inline v0::stores::redis::servers {

// Every claim under a prefix that a script would still count: holders whose lease has not ended, and waiters that are taken to
// be alive. `keepers` are the masters.
std::vector<spi::stored_claim> records_of(const std::vector<server*>& keepers, const std::string& prefix);

}  // namespace mortise::inline v0::stores::redis::servers
