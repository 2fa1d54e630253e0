// Which process this is.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <string>

namespace mortise::inline v0::base {

// Rises in every child of a fork: what was made under another number belongs to the parent. One relaxed load.
std::uint64_t fork_generation() noexcept;

std::string host_name();
std::string program_name();
std::int64_t process_id() noexcept;

}  // namespace mortise::inline v0::base
