#include "core/blocking_call.hpp"

#include "base/process.hpp"

#include <mortise/claim_id.hpp>

#include <utility>

#include <unistd.h>

namespace mortise::inline v0::core {

std::uint32_t this_thread_wait_slot() noexcept {
    thread_local const auto mine = static_cast<std::uint32_t>(claim_id::random().bits[0]) | 1u;
    return mine;
}

std::int64_t this_thread_number() noexcept {
    thread_local std::pair<std::uint64_t, std::int64_t> known{~std::uint64_t{0}, 0};
    if (const auto now = base::fork_generation(); known.first != now) known = {now, ::gettid()};
    return known.second;
}

}  // namespace mortise::inline v0::core
