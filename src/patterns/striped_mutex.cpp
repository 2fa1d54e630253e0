#include "patterns/hash.hpp"
#include "patterns/requirements.hpp"

#include <mortise/patterns/striped_mutex.hpp>

#include <set>

namespace mortise::inline v0 {

striped_mutex::striped_mutex(client& locks, std::string_view name, std::size_t stripes, claim_options options) {
    if (stripes == 0 || stripes > most_stripes)
        patterns::refuse_option(
            "striped_mutex", name,
            "it has 1 to " + std::to_string(most_stripes) + " stripes, not " + std::to_string(stripes));
    for (std::size_t i = 0; i < stripes; ++i)
        stripes_.emplace_back(locks, std::string(name) + "/" + std::to_string(i), options);
}

std::size_t striped_mutex::stripe_of(std::string_view key) const noexcept {
    return patterns::hash_of(key) % stripes_.size();
}

std::vector<std::string> striped_mutex::names(std::span<const std::string_view> keys) const {
    std::set<std::size_t> which;
    for (const std::string_view key : keys) which.insert(stripe_of(key));
    std::vector<std::string> all;
    for (const std::size_t one : which) all.push_back(stripes_[one].name());
    return all;
}

}  // namespace mortise::inline v0
