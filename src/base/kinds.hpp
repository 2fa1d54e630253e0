// Describes what kind of lock a name is used as. Pure.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <string>

namespace mortise::inline v0::base {

// The message of errc::kind_mismatch: the capacity with which the name is in use, and the claimed one.
std::string disagreement(std::uint32_t in_use, std::uint32_t claimed);

}  // namespace mortise::inline v0::base
