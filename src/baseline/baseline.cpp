#include "baseline/baseline.hpp"

#include "base/text.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0 {

baseline_end::~baseline_end() = default;

void check_baseline_place(std::string_view place) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-";
    if (place.empty() || place.size() > 100 || place.find_first_not_of(allowed) != place.npos)
        throw error(errc::invalid_name,
                    "place " + base::quoted(place) + " of a baseline: use 1 to 100 letters, digits, dots and dashes");
}

}  // namespace mortise::inline v0
