#include "patterns/requirements.hpp"

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

}  // namespace mortise::inline v0::patterns
