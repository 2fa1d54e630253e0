// A hash that is the same in every build and on every machine: FNV-1a of 64 bits, folded so that small moduli see all of it.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <string_view>

namespace mortise::inline v0::patterns {

constexpr std::uint64_t hash_of(std::string_view key) noexcept {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char each : key) hash = (hash ^ static_cast<unsigned char>(each)) * 1099511628211ULL;
    return hash ^ (hash >> 32);
}

}  // namespace mortise::inline v0::patterns
