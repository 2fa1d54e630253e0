#include "patterns/requirements.hpp"

#include "patterns/limits.hpp"

#include <mortise/error.hpp>
#include <mortise/promises.hpp>

namespace mortise::inline v0::patterns {

void require(bool has, const client& locks, std::string_view pattern, const std::string& name, std::string_view need) {
    if (has) return;
    throw error(errc::unsupported, std::string(pattern) + " '" + name + "' needs a store with " + std::string(need) +
                                       ", and " + locks.store() + " (" + locks.promises().store +
                                       ") has none; docs/guarantees.md lists the stores that do");
}

void require_tokens(const client& locks, std::string_view pattern, const std::string& name) {
    require(locks.promises().tokens, locks, pattern, name, "fencing tokens");
}

void require_shared(const client& locks, std::string_view pattern, const std::string& name) {
    require(locks.promises().most_capacity > 1, locks, pattern, name, "shared locks");
}

void require_lease(std::chrono::nanoseconds length, std::string_view option, std::string_view pattern,
                   const std::string& name) {
    if (length >= shortest_lease && length <= longest_lease) return;
    throw error(errc::invalid_option, std::string(pattern) + " '" + name + "': " + std::string(option) + " of " +
                                          std::to_string(length / std::chrono::milliseconds{1}) +
                                          " ms: use 100 ms to 24 h");
}

void seal_is_ahead(std::string_view pattern, const std::string& name, std::string_view key) {
    throw error(errc::lost,
                std::string(pattern) + " '" + name + "': '" + std::string(key) +
                    "' is sealed with a larger token than the lock store gives. The lock was broken, or the "
                    "store has lost its counters: then give the storage another prefix");
}

}  // namespace mortise::inline v0::patterns
