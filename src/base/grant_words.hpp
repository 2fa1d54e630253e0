// What stores do with the word of a grant (spi::grant_word), under their own lock.
#pragma once

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>

namespace mortise::inline v0::base {

// Somebody asks for the name: a grant that is kept idle is over, and its client finds that out. True: it is.
inline bool take_if_idle(spi::grant_word& word, const claim_id& id) noexcept {
    using w = spi::grant_word;
    std::uint64_t seen = word.value.load(std::memory_order_acquire);
    while (w::mark_of(seen) == w::mark_of(id) && w::condition_of(seen) == w::idle)
        if (word.value.compare_exchange_weak(seen, w::with(seen, w::gone))) return true;
    return false;
}

// Somebody waits for it. True: it was idle, and is over.
inline bool take_or_want(spi::grant_word& word, const claim_id& id) noexcept {
    using w = spi::grant_word;
    std::uint64_t seen = word.value.load(std::memory_order_acquire);
    while (w::mark_of(seen) == w::mark_of(id)) {
        if (w::condition_of(seen) == w::gone || w::condition_of(seen) == w::wanted) return false;
        const bool was_idle = w::condition_of(seen) == w::idle;
        if (word.value.compare_exchange_weak(seen, w::with(seen, was_idle ? w::gone : w::wanted))) return was_idle;
    }
    return false;
}

// The claim is over, whatever it was.
inline void end_word(spi::grant_word& word, const claim_id& id) noexcept {
    using w = spi::grant_word;
    std::uint64_t seen = word.value.load(std::memory_order_acquire);
    while (w::mark_of(seen) == w::mark_of(id) && w::condition_of(seen) != w::gone)
        if (word.value.compare_exchange_weak(seen, w::with(seen, w::gone))) return;
}

// The claim is over, whatever its record says.
inline bool is_gone(const spi::grant_word& word, const claim_id& id) noexcept {
    using w = spi::grant_word;
    const std::uint64_t seen = word.value.load(std::memory_order_acquire);
    return w::mark_of(seen) == w::mark_of(id) && w::condition_of(seen) == w::gone;
}

// Nobody is inside.
inline bool is_idle(const spi::grant_word& word, const claim_id& id) noexcept {
    using w = spi::grant_word;
    const std::uint64_t seen = word.value.load(std::memory_order_acquire);
    return w::mark_of(seen) == w::mark_of(id) && w::condition_of(seen) == w::idle;
}

}  // namespace mortise::inline v0::base
