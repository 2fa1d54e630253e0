// The error_code of unlock().
#pragma once

#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/hold.hpp>

#include <system_error>

namespace mortise::inline v0::locks {

// None if the lock was released, or will be. `unknown`: the error if the store did not answer.
inline std::error_code unlock_error(release_result result, std::error_code unknown) noexcept {
    switch (result) {
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
