// Detects forks.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <string>

namespace mortise::inline v0::base {

// A number that is larger in every child of a fork: what was created under another number belongs to the parent. One
// relaxed load.
std::uint64_t fork_generation() noexcept;

std::string host_name();
std::string program_name();
std::int64_t process_id() noexcept;

}  // namespace mortise::inline v0::base
