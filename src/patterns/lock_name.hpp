// The name of the lock of a key. Keys may be any bytes of any length, names may not: such a key is named by its hash, and keys
// with the same hash share a lock.
#pragma once

#include <mortise/config.hpp>

#include <string>
#include <string_view>

namespace mortise::inline v0::patterns {

std::string lock_name(const std::string& pattern, std::string_view key);

}  // namespace mortise::inline v0::patterns
