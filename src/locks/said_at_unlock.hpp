// What unlock() says.
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/hold.hpp>

#include <system_error>

namespace mortise::inline v0::locks {

// Nothing if the lock was freed, or will be; `unknown` is what was said of a store that did not answer.
inline std::error_code said_at_unlock(release_result freed, std::error_code unknown) noexcept {
    switch (freed) {
        case release_result::released:
        case release_result::sent:
            return {};
        case release_result::expired:
        case release_result::taken_over:
            return errc::lost;
        case release_result::unknown:
            break;
    }
    return unknown;
}

}  // namespace mortise::inline v0::locks
