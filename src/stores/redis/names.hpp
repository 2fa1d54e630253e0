// Where a name's state lies.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::redis {

// PREFIX:{name}, with the braces and the percent sign of the name escaped: what stands in the braces decides where a cluster
// keeps the key, and two names never meet.
std::string key_of(std::string_view prefix, std::string_view name);
std::optional<std::string> name_of(std::string_view prefix, std::string_view key);

// A glob that matches the keys of a prefix, and those only.
std::string pattern_of(std::string_view prefix);

// 0 to 16383, as the nodes of a cluster count.
std::uint16_t slot_of(std::string_view key);

}  // namespace mortise::inline v0::stores::redis
