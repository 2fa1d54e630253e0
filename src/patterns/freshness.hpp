// What may be done with a cached value of some age. Pure.
#pragma once

#include <mortise/config.hpp>
#include <mortise/patterns/fenced_storage.hpp>
#include <mortise/patterns/single_flight.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::patterns {

enum class freshness {
    fresh,  // serve it
    early,  // serve it, unless this caller gets to rebuild it ahead of time
    stale,  // the same: it is old, but may be served while somebody rebuilds
    gone,   // wait for a rebuild
};

// `dice` is even between 0 and 1.
freshness freshness_of(const std::optional<fenced_storage::entry>& entry, const flight_options& options, double dice);

// "There is nothing" is a value too.
std::string packed(const std::optional<std::string>& value);
std::optional<std::string> unpacked(std::string_view bytes);

}  // namespace mortise::inline v0::patterns
