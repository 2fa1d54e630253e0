// What a pattern needs of a store.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>

#include <string>
#include <string_view>

namespace mortise::inline v0::patterns {

// Throws errc::unsupported, in a sentence that names the pattern, the store and what it lacks.
void require(bool has, const client& locks, std::string_view pattern, const std::string& name, std::string_view need);

void require_tokens(const client& locks, std::string_view pattern, const std::string& name);
void require_shared(const client& locks, std::string_view pattern, const std::string& name);

}  // namespace mortise::inline v0::patterns
