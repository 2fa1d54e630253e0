// What a pattern needs of a store.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace mortise::inline v0::patterns {

// Throws errc::unsupported, in a sentence that names the pattern, the store and what it lacks.
void require(bool has, const client& locks, std::string_view pattern, const std::string& name, std::string_view need);

void require_tokens(const client& locks, std::string_view pattern, const std::string& name);
void require_shared(const client& locks, std::string_view pattern, const std::string& name);

// Throws errc::invalid_option if a lease cannot be so long.
void require_lease(std::chrono::nanoseconds length, std::string_view option, std::string_view pattern,
                   const std::string& name);

// A holder whose lock is valid finds a seal that is larger than its token: waiting or trying again helps nobody.
[[noreturn]] void seal_is_ahead(std::string_view pattern, const std::string& name, std::string_view key);

}  // namespace mortise::inline v0::patterns
