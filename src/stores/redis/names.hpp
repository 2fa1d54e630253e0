// The keys of names.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// PREFIX:{name}, with the braces and the percent sign of the name escaped: the part in braces decides which node of a
// cluster keeps the key, and no two names share one.
std::string key_of(std::string_view prefix, std::string_view name);
std::optional<std::string> name_of(std::string_view prefix, std::string_view key);

// Where the server keeps its spi::token_memory; the key of no name.
std::string memory_key_of(std::string_view prefix);

// A glob that matches exactly the keys of a prefix, and one that matches all that begins with a text.
std::string pattern_of(std::string_view prefix);
std::string pattern_below(std::string_view begin);

// The hash slot of a key, 0 to 16383.
std::uint16_t slot_of(std::string_view key);

}  // namespace mortise::inline v0::stores::redis
