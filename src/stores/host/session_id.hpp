// A client of a process, as the shared file knows it.
#pragma once

#include "stores/host/process_slots.hpp"

#include <mortise/config.hpp>

#include <cstdint>

namespace mortise::inline v0::stores::host {

// 10 bits of the process slot's number, 22 of the client in that process, 32 of the slot's term.
using session_id = std::uint64_t;

inline session_id make_session_id(const process_slot& slot, std::uint32_t client) noexcept {
    return std::uint64_t{slot.number} << 54 | std::uint64_t{client & 0x3fffff} << 32 | slot.term;
}
inline process_slot slot_of(session_id id) noexcept {
    return {static_cast<std::uint32_t>(id >> 54), static_cast<std::uint32_t>(id)};
}
inline std::uint32_t client_of(session_id id) noexcept {
    return static_cast<std::uint32_t>(id >> 32 & 0x3fffff);
}

}  // namespace mortise::inline v0::stores::host
