// Who has the lock, as seen from outside.
#pragma once

#include <mortise/config.hpp>
#include <mortise/token.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace mortise::inline v0 {

struct holder {
    std::string host;
    std::int64_t pid = 0;
    std::string label;
    std::chrono::nanoseconds held_for{};  // on the store's clock; no wall clock is involved
    mortise::token token{};

    // "web-3 pid 4711 (nightly), for 12 s, token 1823..."
    MORTISE_API std::string describe() const;
};

}  // namespace mortise::inline v0
