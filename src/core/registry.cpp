#include "core/registry.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace mortise::inline v0::core {
namespace {

// Edits between two words: enough to tell a typo from another thing.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
        }
    }
    return row.back();
}

}  // namespace

spi::store_factory open_store(const base::url& address) {
    std::string known;
    std::string_view nearest;
    for (const store_entry& entry : registered_stores()) {
        if (entry.scheme == address.scheme) return entry.open(address);
        known += (known.empty() ? "" : ", ") + std::string(entry.scheme) + ":";
        if (distance(entry.scheme, address.scheme) <= 2) nearest = entry.scheme;
    }
    throw error(errc::unknown_store, "store address " + base::quoted(address.masked()) + ": no store is called " +
                                         base::quoted(address.scheme) +
                                         (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + ":") +
                                         "; this build has " + known);
}

}  // namespace mortise::inline v0::core
