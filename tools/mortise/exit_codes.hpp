// All exit codes of the command. `mortise --help` and the manual list them too.
#pragma once

#include <mortise/error.hpp>

#include <system_error>

namespace command {

enum class exit_code : int {
    done = 0,
    busy = 1,            // somebody else holds the lock; `run -E` sets another code
    usage = 64,          // the command line is wrong, or the store cannot do it
    unavailable = 69,    // the store is unreachable or denies access, or a resource is exhausted
    output = 74,         // the output could not be written
    lost = 75,           // the lock was lost
    configuration = 78,  // the store's address or a configuration file is wrong
    cannot_execute = 126,
    not_found = 127,
};

// A command that a signal ended, or a wait that one interrupted.
constexpr int ended_by(int signal) noexcept {
    return 128 + signal;
}

inline exit_code code_of(std::error_code reason) noexcept {
    if (reason.category() != mortise::error_category()) return exit_code::unavailable;
    switch (static_cast<mortise::errc>(reason.value())) {
        case mortise::errc::busy:
        case mortise::errc::timed_out:
            return exit_code::busy;
        case mortise::errc::lost:
        case mortise::errc::not_owner:
            return exit_code::lost;
        case mortise::errc::bad_url:
        case mortise::errc::unknown_store:
            return exit_code::configuration;
        case mortise::errc::kind_mismatch:
        case mortise::errc::unsupported:
        case mortise::errc::no_token:
        case mortise::errc::would_deadlock:
        case mortise::errc::invalid_name:
        case mortise::errc::invalid_option:
            return exit_code::usage;
        default:
            return exit_code::unavailable;
    }
}

}  // namespace command
