// What a claim demands of the store, settled once: all claims of a mutex share one object. And what makes two claims
// interchangeable.
#pragma once

#include "base/kinds.hpp"

#include <mortise/claim.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace mortise::inline v0::core {

using base::reads;  // for the kinds
using base::shared_capacity;

struct claim_terms {
    std::string name;
    std::size_t name_hash = 0;  // taken once: it picks the shard and the place in its table, again and again
    std::shared_ptr<const std::string> label;  // the client's own is one string for all claims, which the client owns
    std::optional<spi::duration> lease;
    std::uint32_t capacity = 1;
    std::uint32_t weight = 1;
    std::uint32_t replicas = 0;
    std::uint16_t keep_ms = 0;  // for how long the grant is kept idle; 0: not at all
    // Bits: there may be a million claims.
    bool fifo : 1 = false;
    bool renewed : 1 = true;
    bool detached : 1 = false;
    bool lazy : 1 = false;       // releases are sent, not awaited
    bool shareable : 1 = false;  // may be handed over inside the process

    spi::duration keep_for() const noexcept { return std::chrono::milliseconds{keep_ms}; }

    bool interchangeable(const claim_terms& other) const noexcept {
        if (this == &other) return shareable;
        return shareable && other.shareable && capacity == other.capacity && lease == other.lease &&
               replicas == other.replicas && keep_ms == other.keep_ms && lazy == other.lazy &&
               (label == other.label || *label == *other.label);
    }
};

}  // namespace mortise::inline v0::core
