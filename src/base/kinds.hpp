// What a name is used for, in words. Pure.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <string>

namespace mortise::inline v0::base {

// Why a claim is refused with errc::kind_mismatch: the capacity that the name is used with, and the one that was claimed.
std::string disagreement(std::uint32_t in_use, std::uint32_t claimed);

}  // namespace mortise::inline v0::base
