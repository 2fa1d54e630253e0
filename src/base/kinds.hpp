// Describes what kind of lock a name is used as. Pure.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <string>

namespace mortise::inline v0::base {

// Of a shared_mutex. A writer claims all of it, a reader one: any number of readers fit, none beside a writer.
inline constexpr std::uint32_t shared_capacity = std::uint32_t{1} << 31;
constexpr bool reads(std::uint32_t capacity, std::uint32_t weight) noexcept {
    return capacity == shared_capacity && weight == 1;
}

// The message of errc::kind_mismatch: the capacity with which the name is in use, and the claimed one.
std::string disagreement(std::uint32_t in_use, std::uint32_t claimed);

}  // namespace mortise::inline v0::base
