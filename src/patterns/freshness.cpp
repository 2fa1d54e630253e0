#include "patterns/freshness.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::patterns {
namespace {

constexpr char a_value = '+';
constexpr char nothing = '-';

}  // namespace

freshness freshness_of(const std::optional<fenced_storage::entry>& entry, const flight_options& options, double dice) {
    if (!entry || entry->bytes.empty()) return freshness::gone;
    const auto life = entry->bytes.front() == nothing ? options.nothing_for : options.fresh_for;
    if (entry->age >= life + options.stale_for) return freshness::gone;
    if (entry->age >= life) return freshness::stale;
    const auto in_double = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()); };
    const double late = options.early * in_double(life);
    const double left = in_double(life) - in_double(entry->age);
    return left < late * dice ? freshness::early : freshness::fresh;
}

std::string packed(const std::optional<std::string>& value) {
    return value ? a_value + *value : std::string(1, nothing);
}

std::optional<std::string> unpacked(std::string_view bytes) {
    if (bytes.empty() || (bytes.front() != a_value && bytes != std::string_view{&nothing, 1}))
        throw error(errc::invalid_option,
                    "the storage has data that this pattern has not written; use a prefix of its own");
    if (bytes.front() == nothing) return std::nullopt;
    return std::string(bytes.substr(1));
}

}  // namespace mortise::inline v0::patterns
