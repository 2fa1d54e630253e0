// The name of the lock of a key. Keys may be any bytes of any length, names may not: such a key is named by its hash, and keys
// with the same hash share a lock.
#pragma once

#include <mortise/config.hpp>

#include <string>
#include <string_view>

namespace mortise::inline v0::patterns {

std::string lock_name(const std::string& pattern, std::string_view key);

// As long as the name of a key's lock gets if it is named by its hash.
inline std::string longest_lock_name(const std::string& pattern) {
    return pattern + "/#0123456789abcdef";
}

}  // namespace mortise::inline v0::patterns
