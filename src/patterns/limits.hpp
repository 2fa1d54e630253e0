// What a claim may have. The same as in base/limits.hpp, which patterns do not see: they use public headers only. A test compares.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <cstddef>

namespace mortise::inline v0::patterns {

inline constexpr std::size_t longest_name = 200;
inline constexpr std::chrono::nanoseconds shortest_lease = std::chrono::milliseconds{100};
inline constexpr std::chrono::nanoseconds longest_lease = std::chrono::hours{24};

}  // namespace mortise::inline v0::patterns
