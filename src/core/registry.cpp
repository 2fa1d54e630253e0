#include "core/registry.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>
#include <mortise/spelling.hpp>

#include <string>

namespace mortise::inline v0::core {

spi::store_factory open_store(const base::url& address) {
    std::string known;
    std::string_view nearest;
    std::size_t edits = 3;
    for (const store_entry& entry : registered_stores()) {
        if (entry.scheme == address.scheme) return entry.open(address);
        known += (known.empty() ? "" : ", ") + std::string(entry.scheme) + ":";
        if (const std::size_t n = detail::edits_between(entry.scheme, address.scheme); n < edits) {
            edits = n;
            nearest = entry.scheme;
        }
    }
    throw error(errc::unknown_store, "store address " + base::quoted(address.masked()) + ": no store is called " +
                                         base::quoted(address.scheme) +
                                         (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + ":") +
                                         "; this build has " + known);
}

}  // namespace mortise::inline v0::core
