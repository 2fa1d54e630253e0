// Futex words in the shared file on which blocked callers sleep. Several may sleep on one.
#pragma once

#include <mortise/config.hpp>

#include <atomic>
#include <cstdint>

namespace mortise::inline v0::stores::host {

// Returns when woken, or if the word is no longer `seen`. False: nobody woke it for a second, or the file was truncated.
bool sleep_on(std::atomic<std::uint32_t>& wait_slot, std::uint32_t seen) noexcept;

// False: nobody slept there.
bool wake_sleepers(std::atomic<std::uint32_t>& wait_slot) noexcept;

}  // namespace mortise::inline v0::stores::host
