// Limits of names, labels, durations and weights.
#pragma once

#include <mortise/claim.hpp>
#include <mortise/client.hpp>
#include <mortise/config.hpp>

#include <chrono>
#include <cstddef>
#include <string_view>

namespace mortise::inline v0::base {

inline constexpr std::size_t longest_name = 200;
inline constexpr std::size_t longest_label = 200;
inline constexpr std::chrono::nanoseconds shortest_lease = std::chrono::milliseconds{100};
inline constexpr std::chrono::nanoseconds longest_lease = std::chrono::hours{24};
inline constexpr std::chrono::nanoseconds shortest_keep = std::chrono::milliseconds{1};
inline constexpr std::chrono::nanoseconds longest_keep = std::chrono::seconds{60};
inline constexpr std::uint32_t most_capacity = 1u << 31;

// Each throws errc::invalid_name or errc::invalid_option with a message that says what is allowed.
// A name is 1 to 200 bytes of UTF-8 without control characters; everything else ('/', '..', braces, spaces) is legal, and
// names that differ in one byte are different locks.
void check_name(std::string_view name);
void check(const claim& wanted);
void check(const client_options& options);

}  // namespace mortise::inline v0::base
