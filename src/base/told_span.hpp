// Spans that a server tells.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace mortise::inline v0::base {

// A century at most, in either direction: a span that makes no sense must not overflow where it is added to a time.
template <class Unit>
constexpr Unit told_span(std::int64_t count) noexcept {
    constexpr auto century = std::chrono::duration_cast<Unit>(std::chrono::hours{24 * 365 * 100});
    return std::clamp(Unit{count}, -century, century);
}

}  // namespace mortise::inline v0::base
