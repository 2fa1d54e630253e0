// The identity of a claim.
#pragma once

#include <mortise/config.hpp>

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace mortise::inline v0 {

// 128 random bits that identify a claim, chosen before the first request. Requests with the same id can be repeated and
// get the same answer. Whoever knows the id can release the claim, so it is a secret and never printed in full.
struct MORTISE_API claim_id {
    std::array<std::uint64_t, 2> bits{};

    static claim_id random();

    // 32 hex digits: the whole secret, to send to a store.
    std::string hex() const;

    // Compares two words; the array's own comparison would call memcmp at every step of a search.
    friend bool operator==(const claim_id& a, const claim_id& b) noexcept {
        return a.bits[0] == b.bits[0] && a.bits[1] == b.bits[1];
    }
    friend auto operator<=>(const claim_id&, const claim_id&) noexcept = default;
};

}  // namespace mortise::inline v0

template <>
struct std::hash<mortise::claim_id> {
    std::size_t operator()(const mortise::claim_id& id) const noexcept {
        return static_cast<std::size_t>(id.bits[0] ^ id.bits[1]);  // random already
    }
};
